# Two wait at a listener that is disconnected: one of them is told.
0 tcplisten a 0
1 accept a w
2 accept a w
4 disconnect a
