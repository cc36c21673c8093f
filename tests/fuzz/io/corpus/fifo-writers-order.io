# open: a small write to a full FIFO waits in the kernel, a large one parks
0 fifo a rw
0 fifo b w
0 pipesize b 3
0 fill b
1 write b 4096
3 pwritev2 b 5000
0 pipesize a 131072
0 read a 3
0 read a 4095
