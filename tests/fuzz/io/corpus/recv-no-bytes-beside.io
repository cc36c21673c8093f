# Who asks for no bytes is woken beside who takes them.
0 tcp a b
2 recvmmsg a 3 8
1 recv a 0
0 send b 1
