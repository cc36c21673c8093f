# The same of a read.
0 pipe a b
0 action IO plain
0 owner b process
1 read a 30
0 write b 10
