# ... and a receive with a time limit.
0 pair a b stream
0 opt a rcvtimeo 3000ms
1 recv a 8
* stop
* cont
