# inotify fills each piece by a read of its own, and waits for the next.
0 inotify a b
0 action USR1 restart
0 epoll z
0 epadd z a in et
1 preadv2 a 32
0 close b
0 write b 10
4 epwait z 4 0ms
