# MSG_WAITALL has a part when a reset comes: the part now, the error next.
0 tcp a b
1 recv a 100 waitall
0 send b 3
0 opt b reset
0 close b
0 recv a 8
