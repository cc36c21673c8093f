# netlink has none either, and waits for no more than one message.
0 netlink a b
1 recvmsg a 4 errqueue
2 recv a 5
3 recvmsg a 4 waitall
0 send b 2
0 send b 2
0 send b 1
