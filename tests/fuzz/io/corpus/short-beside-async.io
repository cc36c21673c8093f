# Bytes that are too few for what an eventfd or the like says: EINVAL at once, whoever has O_ASYNC elsewhere.
0 signalfd a USR2
0 eventfd b 0
0 timerfd c
0 tcp d e
1 owner e
3 read a 1
3 read b 7
3 read c 1
