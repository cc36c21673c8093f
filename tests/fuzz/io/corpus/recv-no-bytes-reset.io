# Who asks for no bytes is woken by a reset, and the error stays with the socket.
0 tcp a b
1 recv b 0
0 opt a reset
0 close a
1 soerror b
