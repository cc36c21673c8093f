# a signal finds room in a unix stream of which poll does not tell yet
0 action USR1 plain
0 pipe a b
0 pair c d
0 fill b
0 fill d
1 splice a d 1
0 read c 4096
0 tkill 1 USR1
