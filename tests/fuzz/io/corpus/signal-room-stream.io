# The same of a stream, of which a part goes.
0 action USR1 restart
0 pair a b stream
0 fill b
1 write b 300000
0 read a 4096
4 tkill 1 USR1
0 unread a
