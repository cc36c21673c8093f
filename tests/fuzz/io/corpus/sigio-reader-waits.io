# The kernel sends no SIGIO for data that somebody waits for (sk_wake_async()).
0 pair c d stream
0 action IO plain
0 owner d process
3 recv d 2
4 send c 1
