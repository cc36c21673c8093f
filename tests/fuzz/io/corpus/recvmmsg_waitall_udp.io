# One datagram is all that MSG_WAITALL waits for: who came first is served first.
0 udppair a b
0 send b 1
1 recvmmsg a 2 0 waitall
3 recvmmsg a 3 3 trunc
0 send b 1
