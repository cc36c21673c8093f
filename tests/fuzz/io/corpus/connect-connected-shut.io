# open: who connects a socket that is connected waits for room, and is not refused when it begins anew
0 action USR1 restart
0 unixlisten l 0
0 unixsock s
0 unixsock t
0 pair a b
0 sendfd a 1 l
0 recvfd b 1 m
1 connect s l
2 connect s l
1 connect t m
0 shutdown m
4 tkill 2 USR1
