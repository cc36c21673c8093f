0 pipe a b
0 pipe c d
1 write b 300000
0 dup2 d b
* sink 3 a
* sink 3 c
