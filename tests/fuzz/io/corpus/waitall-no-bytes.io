# MSG_WAITALL of no bytes waits for data.
0 tcp a b
1 recv a 0 waitall
