# open: who is first in line for a receiver's room is told that it is shut, and the next one asks then; natively that one sleeps on
0 unixdgram a
0 unixdgram b
0 unixdgram c
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
1 sendto b a 1
2 sendto c a 1
0 shutdown a
0 recv a 3
