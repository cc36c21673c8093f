# Select for POLLPRI hears of the other end, though its number is closed.
0 tcp a b
1 select a:pri
0 close a
0 close b
