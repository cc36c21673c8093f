# A process in the background that reads its terminal is stopped.
0 pty a b
0 fork 5
5 session b
5 fork 6
6 group
6 threaded
6 read b 1
