# a filter makes a message shorter than it was, and the next ones follow
0 netlink a b
0 fill b
1 sendmmsg b 3 3 nosignal
0 filter a 1
0 recvmmsg a 2 5000
