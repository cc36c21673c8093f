# A full eventfd: a write of the wrong size fails at once.
0 eventfd a 0
0 write8 a -2
1 write a 4
