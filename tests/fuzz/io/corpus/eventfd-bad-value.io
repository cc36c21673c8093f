# ... and so does one of the value that there is not.
0 eventfd a 0
0 write8 a -2
1 write8 a -1
