# What a reader gets whose socket is disconnected.
0 tcp a b
1 recv a 8
0 disconnect a
