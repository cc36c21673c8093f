# open: EFAULT of recvmmsg's second message, for which it has waited, stays with the socket, which only the kernel can (do_recvmmsg() writes sk_err)
0 pair a b stream
1 recvmmsg a 2 3 fault2
0 write b 1
0 write b 1
4 poll a:in,out 0ms
