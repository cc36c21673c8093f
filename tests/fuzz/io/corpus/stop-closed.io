# The same of a number that nobody has: EBADF, POLLNVAL.
0 pair a b stream
1 read a 5
2 poll a:in
0 close a
* stop
* cont
