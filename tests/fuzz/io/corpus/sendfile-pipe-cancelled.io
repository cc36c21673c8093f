# open: a cancel that does nothing has a call that waits in the kernel begin anew
0 pipe a b packet
0 pair c d
2 sub sendfile b c 1 own
1 nonblock b 1
1 cancel 2
