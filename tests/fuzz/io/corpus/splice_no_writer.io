# A FIFO that has had no writer is at its end, once there is room for what it has not.
0 pipe a b
0 fifo c r nonblock
0 nonblock c 0
0 fill b
2 splice c b 1
0 read a 12288
