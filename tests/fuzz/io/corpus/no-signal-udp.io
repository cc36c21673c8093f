0 udppair a b
0 shutdown a wr
1 send a 1
