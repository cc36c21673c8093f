# ... so a signal for the second of three readers ends that one alone.
0 pty a b
0 action USR1 plain
1 read a 1
2 read a 1
3 read a 1
0 nonblock a 1
0 tkill 2 USR1
0 write b 1
