# MSG_FASTOPEN on a blocking socket connects and sends.
0 tcplisten a 5
0 tcpsock b
0 sendto b a 5 fastopen
