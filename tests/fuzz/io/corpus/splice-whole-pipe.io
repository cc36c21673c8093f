# splice() to a socket ends when the pipe is empty, whatever it was asked for.
0 pair a b stream
0 opt a sndbuf 1
0 pipe c d
0 fill d
1 splice c a 70000
0 unread b
