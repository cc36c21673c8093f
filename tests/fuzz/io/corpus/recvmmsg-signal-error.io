# open: a signal that ends recvmmsg behind a message leaves -ERESTARTSYS with the socket (do_recvmmsg() writes sk_err), which only the kernel can
0 pair a b dgram
0 action USR1 plain
1 recvmmsg a 2 3
0 send b 0
0 tkill 1 USR1
0 poll a:in,out,rdhup 0ms
