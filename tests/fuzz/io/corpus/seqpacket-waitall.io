# MSG_WAITALL gives one packet of SOCK_SEQPACKET.
0 pair a b seqpacket
0 send b 3
1 recv a 8 waitall
