# A time limit is each buffer's own: the next one has another.
0 pair a b stream
0 opt b sndtimeo 400ms
0 fill b
1 write b 300000
0 read a 4096
* await 3
* await 3
0 unread a
