# A part was sent when the peer goes: the part, and no SIGPIPE.
0 pair a b stream
1 writev a 1048576
0 recv b 20000
0 close b
0 soerror a
