# ... and ends all that have a time limit.
0 udppair a b
0 opt a rcvtimeo 3000ms
1 recv a 10
2 read a 3
3 read a 16
0 write b 1
* stop
* cont
