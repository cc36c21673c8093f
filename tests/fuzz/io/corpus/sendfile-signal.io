# sendfile() of which a part is sent when the connection breaks: SIGPIPE.
0 memfd c 8388608
0 tcp a b
1 sendfile a c 8388608
0 shutdown a wr
