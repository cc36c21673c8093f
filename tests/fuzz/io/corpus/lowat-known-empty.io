# Fewer bytes than SO_RCVLOWAT make no edge: a read of fewer has them.
0 tcp a b
0 send b 12
0 read a 100
0 opt a rcvlowat 10
1 read a 2
0 send b 12
0 read a 100
0 send b 3
1 read a 2
