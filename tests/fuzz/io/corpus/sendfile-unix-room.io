# How much of a file fits a unix stream before it is full.
0 pair a b stream
0 memfd c 300000
1 sendfile a c 300000
0 close b
