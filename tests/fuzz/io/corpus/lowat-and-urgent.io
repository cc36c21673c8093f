# SO_RCVLOWAT of 1: a waiting receive goes past the mark of urgent data.
0 tcp a b
0 opt a rcvlowat 1
1 recv a 1
4 send b 1 oob
4 atmark a
