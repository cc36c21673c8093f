0 pair a b dgram
0 shutdown a wr
1 send a 1
