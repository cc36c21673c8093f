# open: a send on a unix socket whose process executes another program tries no more: natively once, for the signal
# A part of the first buffer is read, which makes room, but not enough for a wake-up.
0 pair a b stream
1 write b 300000
2 recv a 70000
3 exec
3 send b 1
