# A terminal that is open for writing alone.
0 pty a b
0 ptsopen a c w
1 read c 3
