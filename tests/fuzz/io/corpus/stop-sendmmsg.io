# A stop ends a wait for room in the own buffer: there is some, and the next message waits no more.
0 pair a b dgram
0 fill b
1 sendmmsg b 2 70000
0 read a 1
* stop
* cont
