# SO_RCVTIMEO with negative seconds: a call does not wait.
0 pair a b stream
0 opt b rcvtimeo -1
1 recv b 4
