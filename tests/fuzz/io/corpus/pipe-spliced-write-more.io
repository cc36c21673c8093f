# open: what is more than whole pages goes first, into a buffer of its own; natively it is last
0 pipe a b
1 vwrite b 3,0,5000 vmsplice
1 write b 70000
3 take a 12288
