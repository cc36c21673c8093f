# The same with MSG_WAITALL.
0 tcp a b
1 recvmsg b 0 waitall
0 opt a reset
0 close a
1 soerror b
