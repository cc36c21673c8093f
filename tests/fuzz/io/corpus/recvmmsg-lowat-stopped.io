# Each message has what is there; the wait for the second one ends at the stop.
0 tcp a b
0 opt a rcvlowat 2
0 write b 9
1 vread a 3,0,5 recvmsg
3 recvmmsg a 2 1 waitall
* stop
* cont
