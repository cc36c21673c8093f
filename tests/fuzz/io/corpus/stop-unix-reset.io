# A write that was stopped has begun anew: EPIPE when the peer goes with data unread.
0 pair a b stream
0 fill b
1 poll a:pri
0 close a
0 write b 1
* stop
* cont
