# open: as pipe-last-page.io, and a signal then ends the write with what it has done
0 action USR1 plain
0 pipe a b
1 write b 70000
3 write b 70000
0 pipesize a 131072
0 tkill 3 USR1
