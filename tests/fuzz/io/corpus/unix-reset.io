# A write that waits when the peer goes with data unread: ECONNRESET, no signal.
0 pair a b stream
0 fill a
1 write a 1
0 close b
