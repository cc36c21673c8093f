# A read of no bytes by a master's side waits behind who reads: a handler ends that.
0 action USR1 plain
0 pty a b raw
1 read a 0
1 read a 3
2 read a 0
3 read a 0
0 write b 5
1 read a 8
1 read a 8
2 read a 0
0 tkill 1 USR1
