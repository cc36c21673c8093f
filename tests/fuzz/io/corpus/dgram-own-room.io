# Who waits for room in its own buffer waits until most of it is free.
0 unixdgram a
0 unixdgram b
0 connect b a
0 opt b sndbuf 20000
0 fill b
3 send b 3
0 read a 1
