0 pair a b dgram
1 recv a 8
0 shutdown a rd
2 recv a 8
