# the same of a pipe's first reads
0 pipe a b
0 owner a
2 read a 1
4 close a
* stop
* cont
