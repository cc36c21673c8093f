# An eventfd takes no file, whether it has room or not.
0 eventfd a 0
0 write8 a -2
0 memfd b 1
1 sendfile a b 1
