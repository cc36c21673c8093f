# open: a waiter whose number is closed needs a free descriptor to stay with its file, and the limit is other threads' as well
# close() under a reader while no descriptor is free: it goes on waiting.
0 pair a b stream
1 read a 8
4 table 30
0 close a
0 dup b c
0 write b 3
