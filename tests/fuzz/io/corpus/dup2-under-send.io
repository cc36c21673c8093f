# ... and when the number is given to another socket.
0 pair a b stream
0 pair c d stream
1 send a 1048576 nosignal
0 dup2 c a
* sink 3 b
* sink 3 d
