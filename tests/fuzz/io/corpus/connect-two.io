# Two threads wait in connect() on one socket: both are told that it is there.
0 tcplisten a 0
0 tcpsock b
0 tcpsock c
0 connect c a
1 connect b a
2 connect b a
0 accept a e
* await 4 6000
* await 5 6000
0 accept a f
