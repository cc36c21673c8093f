# recvmmsg() of several messages stays with its file when the number is closed.
0 pair a b dgram
1 recvmmsg a 3 8
0 close a
0 send b 1
0 pair c d dgram
0 send d 2
0 send b 3
0 send b 5
