# EPIPE without SIGPIPE: sockets that are no streams.
0 pair a b seqpacket
0 close b
1 write a 1
