# The messages that follow go to the same file.
0 pair a b stream
0 fill b
1 sendmmsg b 3 70000
0 close b
* sink 4 a
