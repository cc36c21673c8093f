# readv() of no bytes waits for nothing.
0 tcp a b
1 readv b 0
