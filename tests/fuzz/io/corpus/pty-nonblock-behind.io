# ... and who stands behind its reader looks for the first time when that one has left.
0 pty a b
0 ptsopen a c w
1 vread a 1,b,5
2 preadv2 a 1
0 nonblock a 1
0 write b 1
