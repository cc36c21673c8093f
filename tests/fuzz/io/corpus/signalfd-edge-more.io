# open: the library asks its own signalfd for other signals, and signalfd4() wakes whoever polls any of the process's
0 mask block USR2
1 mask block USR2
2 mask block USR2
3 mask block USR2
4 mask block USR2
0 signalfd a USR2
0 epoll z
0 epadd z a in et
1 epwait z 1
0 kill USR2
4 epwait z 1 0ms
