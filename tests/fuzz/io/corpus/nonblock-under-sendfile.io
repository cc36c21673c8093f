# Each 64 KB of a file are sent as the socket's O_NONBLOCK says then.
0 tcp a b
0 memfd c 8388608
1 sendfile b c 8388608
0 nonblock b 1
3 send a 1 dontwait
