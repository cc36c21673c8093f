# The same of who waits for room.
0 pair a b stream
0 fill b
1 write b 1
0 fionbio b 1
* stop
* cont
