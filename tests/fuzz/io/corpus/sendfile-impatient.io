# SO_SNDTIMEO with negative seconds: sendfile() does not wait for room.
0 pair a b stream
0 opt a sndtimeo -1
0 memfd c 9
0 fill a
1 sendfile a c 9
