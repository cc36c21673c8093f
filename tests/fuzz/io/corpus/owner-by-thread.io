# open: the signal is the process's, not the thread's: nothing tells of which descriptor it is
# F_SETOWN with a thread's id.
0 action IO restart
0 tcp a b
1 owner a
0 send b 1
