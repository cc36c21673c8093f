# A write to a pipe of which a part is there when the reader goes.
0 pipe a b
1 pwritev2 b 300000
0 close a
