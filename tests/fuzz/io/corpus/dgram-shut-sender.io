# open: a datagram that waits for room at its receiver is in a buffer of its own socket natively: no call that does not wait can put it there
0 unixdgram a
0 unixdgram b
0 connect b a
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
0 send b 1
1 send b 1
0 shutdown b wr
0 close a
