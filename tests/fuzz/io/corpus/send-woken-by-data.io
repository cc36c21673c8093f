# open: a sender is woken when poll says that there is room, and by no other news of the connection
# A full TCP connection: what comes from the peer has the sender look again.
0 tcp a b
0 fill a
1 send a 1
0 send b 1
