# open: a stop that ends recvmmsg behind a message leaves -ERESTARTSYS with the socket (do_recvmmsg() writes sk_err), which only the kernel can
0 raw a b
0 epoll z
0 epadd z a in
3 recvmmsg a 3 1
0 write b 1
* stop
* cont
4 epwait z 1 0ms
