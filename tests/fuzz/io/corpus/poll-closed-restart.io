# open: a poll whose number is closed looks again, and finds the -ERESTARTSYS that a signal has had recvmmsg leave with the socket: nobody is told of that
0 action USR1 restart
0 tcp a b
1 recvmmsg a 4 0 fault3
2 poll a:in
0 tkill 1 USR1
0 close a
