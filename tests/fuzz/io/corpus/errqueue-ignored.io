# A unix socket has no queue of errors: who asks for it waits, behind the others.
0 pair a b dgram
1 read b 3
2 recvmsg b 0 errqueue
3 recvfrom b 5
0 writev a 1
