# MSG_WAITALL with a name that has no place to go fails when all has come.
0 unixconn a b
1 recvmsg a 8 waitall badname
0 send b 1
0 send b 10
0 recv a 20 dontwait
