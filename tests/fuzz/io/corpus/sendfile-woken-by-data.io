0 tcp a b
0 memfd c 1
0 fill a
1 sendfile a c 1
0 send b 1
