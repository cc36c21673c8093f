# All who wait for SO_RCVLOWAT's bytes are woken, though one in the kernel leaves fewer.
0 tcp a b
0 opt a rcvlowat 10
1 preadv2 a 1
2 recv a 1 waitall
0 write b 9
0 write b 1
