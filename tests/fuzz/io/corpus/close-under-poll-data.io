# Data wakes who polls for POLLPRI, who finds the number closed.
0 pair a b stream
1 poll a:pri
0 close a
0 send b 1
