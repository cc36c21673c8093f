# A connect() that waits stays with its socket when the number is closed.
0 tcplisten a 0
0 tcpsock b
0 crowd a
1 connect b a
0 close b
0 accept a e
0 accept a f
* await 3 6000
