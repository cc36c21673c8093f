# 16 pages of a file make one buffer of a unix stream, however small SO_SNDBUF is.
0 pair a b stream
0 opt a sndbuf 1
0 memfd c 300000
1 sendfile a c 300000
0 unread b
0 read b 20000
0 unread b
