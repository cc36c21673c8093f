# O_NONBLOCK that comes while a receive waits for all is for the next call.
0 tcp a b
1 recvmsg b 3 waitall
0 nonblock b 1
0 send a 1
0 send a 1
0 send a 3
0 pair c d stream
2 recv d 5 waitall
0 send c 2
0 nonblock d 1
0 send c 2
0 close c
