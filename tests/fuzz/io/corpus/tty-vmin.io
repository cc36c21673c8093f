# VMIN is more than the read asks for: what it asks for is enough.
0 pty a b raw
0 mode b 5 0
1 read b 3
0 write a 3
