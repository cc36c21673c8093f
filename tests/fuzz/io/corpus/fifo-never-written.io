# A FIFO opened with O_NONBLOCK, made blocking: end of file while no writer was.
0 fifo a r nonblock
0 nonblock a 0
1 read a 8
