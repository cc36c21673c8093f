0 pair a b dgram
1 recv a 1
2 recv a 1
3 recv a 1
0 send b 1
0 send b 1
0 send b 1
