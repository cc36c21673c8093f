# A unix stream that is full and shut has no room to wait for.
0 pipe a b
0 pair c d stream
0 fill d
1 splice a d 1
0 shutdown d wr
0 write b 1
