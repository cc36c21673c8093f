0 pty a b raw
1 read a 3
2 read a 0
0 close a
0 write b 1
