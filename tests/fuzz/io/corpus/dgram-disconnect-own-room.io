# connect() wakes who waits for room in a datagram socket that had a peer: there is some.
0 pair a b dgram
0 fill b
1 write b 1
0 read a 1
0 disconnect b
