# SIGPIPE comes beside a message that was sent before, though the call does not wait.
0 tcp a b
0 nonblock a 1
1 close b
2 sendmmsg a 2 1 dontwait
