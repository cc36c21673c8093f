# A write that does not fit waits; one that fits does not wait behind it.
0 eventfd a 10
1 write8 a -6
2 write8 a 1
0 read8 a
