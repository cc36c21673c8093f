# An accept() that waits has its descriptor's number already.
0 tcplisten a 1
1 accept a e
0 memfd f 1
0 tcpsock c
0 connect c a
