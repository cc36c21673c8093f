0 tcplisten a 5
0 tcpsock b
0 tcpsock c
0 tcpsock d
1 accept a e
2 accept a f
3 accept a g
0 connect b a
0 connect c a
0 connect d a
