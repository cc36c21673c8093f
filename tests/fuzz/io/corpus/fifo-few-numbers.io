# An open of a FIFO begins anew where few numbers are left: its own is all it takes.
0 action USR1 restart
1 fifo g r
3 fifo k r
0 nofile 10
0 tkill 1 USR1
0 fifo m rw
