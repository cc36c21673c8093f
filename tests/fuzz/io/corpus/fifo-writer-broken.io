# The reader goes while a writer waits that has done a part: SIGPIPE is the writer's.
0 fifo a rw
0 fifo b w
1 write b 300000
0 close a
