# A call that waited is told of the end, though the socket does not let wait any more.
0 raw a b
1 recvmsg a 1 peek
0 nonblock a 1
4 shutdown a
