# A handler ends a write to a terminal that nobody reads: the part.
0 action USR1 plain
0 pty a b raw
1 write b 300000
0 tkill 1 USR1
