# A stop ends a sendmmsg that has sent a part, and waits in the kernel for the rest.
0 netlink a b
0 fill b
4 sendmmsg b 3 5000
0 recvmmsg a 2 5000
* stop
* cont
