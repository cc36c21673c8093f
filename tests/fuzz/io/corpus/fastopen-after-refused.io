# Who is refused has a socket as if there had been no connection.
0 tcpsock a
0 tcpsock b
1 dup2 b a
1 connect b a
1 nonblock a 1
1 sendto b a 1 fastopen
