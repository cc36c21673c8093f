# VMIN 0: a read never waits.
0 pty a b raw
0 mode b 0 0
1 read b 3
