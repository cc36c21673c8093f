0 pair a b stream
0 opt a rcvlowat 10
0 send b 5
1 read a 100
0 send b 5
