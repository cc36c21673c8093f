# ... epoll_pwait() says 0, and no handler runs.
0 action USR1 plain
0 pipe a b
0 epoll c
0 epadd c a in
1 mask block USR1
0 tkill 1 USR1
1 eppwait c 1 0ms opens USR1
1 pending USR1
