# SIGXFSZ beside a part.
0 memfd m 1
0 pipe a b
0 action XFSZ plain
1 splice a m 10
0 fsize 1
0 write b 3
