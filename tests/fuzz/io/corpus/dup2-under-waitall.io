0 pair a b stream
0 pair c d stream
1 recv a 10 waitall
0 send d 10
0 dup2 c a
0 send b 5
0 send b 5
