# VMIN 0 with VTIME: a read waits for that long.
0 pty a b raw
0 mode b 0 4 400ms
1 read b 3
* await 2
