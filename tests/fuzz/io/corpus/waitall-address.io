# recvfrom(MSG_WAITALL) gives an address' length.
0 tcp a b
0 send b 4
1 recvfrom a 4 waitall
