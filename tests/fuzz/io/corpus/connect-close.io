# A connect() that waits stays with its socket when the number is closed.
0 tcplisten a 0
0 tcpsock b
0 tcpsock c
0 connect c a
1 connect b a
0 close b
0 accept a e
* await 4 6000
0 accept a f
