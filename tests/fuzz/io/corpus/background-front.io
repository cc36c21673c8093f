0 pty a b
0 fork 5
5 session b
5 fork 6
6 group
6 threaded
6 front b
