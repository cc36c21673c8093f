# A reset under a send of which a part is sent: the error stays with the socket.
0 tcp a b
0 dup a c
1 send a 8388608 nosignal
0 recv b 20000
0 opt b reset
0 close b
0 poll a:in 0ms
0 recv c 8
