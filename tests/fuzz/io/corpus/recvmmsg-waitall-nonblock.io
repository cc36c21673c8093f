# A recvmmsg() with MSG_WAITALL, made O_NONBLOCK while it waits: what wakes it is not what it waits for.
0 pair a b stream
3 recvmmsg a 2 1 waitall
0 fionbio a 1
0 send b 1 oob
0 send b 2
