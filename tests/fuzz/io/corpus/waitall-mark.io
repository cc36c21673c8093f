# MSG_WAITALL does not cross the mark of urgent data.
0 tcp a b
0 send b 2
0 send b 1 oob
0 send b 2
1 recv a 3 waitall
1 atmark a
