# MSG_WAITALL ends after data that carries descriptors.
0 pair a b stream
0 sendfd b 4 a
0 sendfd b 4 a
1 recvmsg a 8 waitall
1 recvmsg a 8 waitall
