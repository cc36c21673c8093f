# SIGPIPE of a call that the kernel makes is for the thread that made it.
0 tcp c d
0 shutdown c wr
1 send c 5 oob
