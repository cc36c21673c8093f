0 pty a b
0 fork 5
5 session b
5 fork 6
5 tostop b
6 group
6 threaded
6 write b 1
