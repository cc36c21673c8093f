# A signal ends a wait for room in the own buffer: there is some, less than it is woken for.
0 action USR1 plain
0 pair a b dgram
0 fill b
1 write b 1
0 read a 4096
4 tkill 1 USR1
0 unread a
