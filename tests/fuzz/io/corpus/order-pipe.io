# Who waits first is served first.
0 pipe a b
1 read a 1
2 read a 1
3 read a 1
0 write b 1
0 write b 1
0 write b 1
