# SO_RCVLOWAT: a read waits for that many bytes.
0 tcp a b
0 opt a rcvlowat 10
0 send b 5
1 read a 100
0 send b 5
