# recvmmsg() with a limit that has passed ends with the next message, SO_RCVLOWAT or not.
0 pair a b seqpacket
0 opt b rcvlowat 3
1 recvmmsg b 2 1 400ms
* await 2
2 send a 1
