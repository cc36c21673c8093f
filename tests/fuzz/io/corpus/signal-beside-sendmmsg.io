# SIGPIPE comes beside a result: one message was sent before.
0 tcp a b
0 close b
3 sendmmsg a 3 1 dontwait
