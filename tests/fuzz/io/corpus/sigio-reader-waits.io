# The kernel sends no SIGIO for data that somebody waits for (sk_wake_async()).
# one CPU: sock_def_readable() wakes the reader first, and looks then whether one waits.
0 pair c d stream
0 action IO plain
0 owner d process
3 recv d 2
4 send c 1
