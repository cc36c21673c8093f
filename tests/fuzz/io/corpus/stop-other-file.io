0 pair a b stream
0 pair c d stream
1 read a 5
0 dup2 c a
* stop
* cont
0 send d 3
