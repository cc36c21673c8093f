# ... and waits for the connection.
0 tcplisten a 0
0 tcpsock b
0 crowd a
1 sendto b a 1 fastopen
