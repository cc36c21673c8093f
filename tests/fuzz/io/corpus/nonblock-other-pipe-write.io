# The number of a write to a full pipe is made another one's, which is O_NONBLOCK: a signal ends it with EINTR.
0 action USR1 plain
0 pipe a b
0 fill b
0 pipe c d
0 fill d
0 nonblock d 1
1 write b 1
0 dup2 d b
0 tkill 1 USR1
