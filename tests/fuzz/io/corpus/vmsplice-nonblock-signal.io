# The same behind a handler.
0 action USR2 restart
0 pipe a b
0 fill b
1 vwrite b 3,0,5000 vmsplice
0 nonblock b 1
4 tkill 1 USR2
