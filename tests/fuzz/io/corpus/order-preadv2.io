# Who waits first is served first, by whichever call.
0 pipe a b
1 preadv2 a 1
2 read a 1
3 pwritev2 b 1
