# open: after a stop kernel threads go on in the order in which they were made, which is not that of the threads that wait on them
0 tcp a b
0 opt a rcvlowat 10
1 recvmmsg a 2 1 waitall
3 recvfrom a 5 waitall
4 vread a 3,0,5 readv
* stop
* cont
0 drain a
0 write b 20
