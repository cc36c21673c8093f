# SO_SNDTIMEO is for the whole call, though the peer takes some now and then.
0 tcp a b
0 opt a sndbuf 65536
0 opt b rcvbuf 65536
0 opt a sndtimeo 1000ms
1 send a 4194304
* until 4 0 recv b 300000 dontwait
