# shutdown() ends a connect() that waits.
0 tcplisten a 0
0 tcpsock b
0 crowd a
1 connect b a
0 shutdown b rdwr
0 soerror b
