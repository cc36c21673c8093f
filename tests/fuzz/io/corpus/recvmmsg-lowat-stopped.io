# open: of the second message, which the kernel receives, the wait is begun anew by the kernel
0 tcp a b
0 opt a rcvlowat 2
0 write b 9
1 vread a 3,0,5 recvmsg
3 recvmmsg a 2 1 waitall
* stop
* cont
