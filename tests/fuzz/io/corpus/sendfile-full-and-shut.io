0 pair a b stream
0 fill b
0 shutdown b wr
0 memfd c 1
1 sendfile b c 1
