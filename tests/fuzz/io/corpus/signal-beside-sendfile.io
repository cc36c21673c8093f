# SIGPIPE comes beside the part that sendfile() has sent before.
0 memfd c 8388608
0 tcp a b
0 opt a sndtimeo 30000ms
1 sendfile a c 8388608
0 shutdown a wr
