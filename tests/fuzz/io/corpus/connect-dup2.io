# ... and when the number is given to another file.
0 tcplisten a 0
0 tcpsock b
0 tcpsock c
0 crowd a
1 connect b a
0 dup2 c b
0 accept a e
0 accept a f
* await 4 6000
0 peer c
