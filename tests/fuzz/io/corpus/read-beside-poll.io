# Who waits to read, beside who polls, comes to rest.
0 eventfd a 0
1 poll a:in
2 read8 a
0 write8 a 1
0 write8 a 1
