# shutdown() ends who waits for a datagram, and who comes later.
0 udp a
1 recv a 8
0 shutdown a rdwr
2 recv a 8
