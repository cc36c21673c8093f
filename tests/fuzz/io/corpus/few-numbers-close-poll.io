# A waiter keeps its file by the last number of a small table, not by the next one.
0 fifo x rw
1 poll x:in
0 nofile 10
0 close x
0 fifo m
0 fifo o w nonblock
