# recvmmsg of unixdgram, which does not look at MSG_ERRQUEUE, waited in the kernel, and
# one that came later was served first
0 unixdgram a
0 unixdgram b
0 connect b a
1 recvmmsg a 3 0 errqueue
2 recvmmsg a 1 3 waitforone
0 send b 1
