# Who waits at a unix listener that is made O_NONBLOCK and shut: what came before that first.
0 unixlisten a 3
0 unixsock b
1 accept a u
2 accept a v
0 nonblock a 1
0 connect b a
0 shutdown a rd
0 nonblock a 0
3 accept a v
