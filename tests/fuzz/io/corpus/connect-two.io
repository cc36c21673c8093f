# Two threads wait in connect() on one socket: both are told that it is there.
0 tcplisten a 0
0 tcpsock b
0 crowd a
1 connect b a
2 connect b a
0 accept a e
0 accept a f
* await 3 6000
