# open: who looks at a datagram wakes the next one: one event may stand for several
# Who peeks is woken, and nobody behind it: the datagram is there, and the reader waits.
0 pair a b dgram
1 recv b 8 peek
3 read b 1
0 pwritev2 a 1
