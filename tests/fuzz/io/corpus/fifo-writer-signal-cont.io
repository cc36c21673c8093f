# a SIGCONT that has ended no stop, and then a signal for who waits to open a FIFO: nobody else's call ends
0 action USR1 restart
0 epoll z
1 fifo f w
2 fifo h w
3 fifo d w
4 epwait z 1
* cont
0 tkill 1 USR1
0 tkill 2 USR1
0 tkill 3 USR1
