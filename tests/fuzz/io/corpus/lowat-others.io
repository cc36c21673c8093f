# Enough for SO_RCVLOWAT wakes all who wait for fewer bytes, whatever the first leaves.
0 tcp6 a b
0 opt b rcvlowat 10
1 preadv2 b 1
2 recvfrom b 1
0 write a 10
