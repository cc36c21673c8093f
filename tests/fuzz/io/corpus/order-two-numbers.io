# Who waits first is served first, by whichever number of the file.
0 pipe a b
0 dup a c
1 read a 1
2 read c 1
3 write b 1
