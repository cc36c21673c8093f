# A full TCP connection: what comes from the peer has the sender look again.
0 tcp a b
0 fill a
1 send a 1
0 send b 1
