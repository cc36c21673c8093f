# ... and when the number is given to another file.
0 tcplisten a 0
0 tcpsock b
0 tcpsock c
0 tcpsock d
0 connect d a
1 connect b a
0 dup2 c b
0 accept a e
* await 5 6000
0 accept a f
0 peer c
