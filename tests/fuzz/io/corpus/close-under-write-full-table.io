# open: a waiter whose number is closed needs a free descriptor to stay with its file, and the limit is other threads' as well
0 pair a b stream
1 write b 1048576
4 table 1
0 close b
