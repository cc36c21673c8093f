# Of two who wait for room one has the buffer that is free: the other's byte could go
# behind it, but pipe_write() looks for that only when it begins.
0 pipe a b
0 write b 1
0 fill b
1 writev b 1
3 write b 1
4 preadv2 a 8
