0 tcp a b
0 opt a rcvlowat 1
1 recv a 1
4 send b 1 oob
4 atmark a
