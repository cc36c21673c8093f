# open: the next message of a sendmmsg has the error for which the first receiver is woken
0 udplost a
1 recvmmsg a 2 1
2 recvfrom a 1
0 sendmmsg a 3 1
0 send a 1
