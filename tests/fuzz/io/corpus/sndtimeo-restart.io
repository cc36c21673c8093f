# A send with a time limit ends with EINTR after a handler, SA_RESTART or not.
0 action USR1 restart
0 pair a b dgram
0 opt a sndtimeo 3000ms
0 fill a
1 send a 1
0 tkill 1 USR1
