# A write to a full pipe that is made O_NONBLOCK meanwhile: a signal has pipe_write() look at that first.
0 action USR1 plain
0 pipe a b
0 fill b
1 writev b 1
0 nonblock b 1
0 tkill 1 USR1
