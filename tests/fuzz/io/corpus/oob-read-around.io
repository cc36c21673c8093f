# Bytes around urgent data: a read ends at the mark, and the next has the rest.
0 tcp a b
1 read a 8
0 send b 1
0 send b 3
0 send b 1 oob
0 recv a 1 oob
0 send b 3
1 read a 100
1 read a 100
