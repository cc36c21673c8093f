# A write to a pipe that waits: one SIGIO for what is there, none for what is only tried.
0 pipe a b
0 action IO plain
0 owner a process
1 write b 300000
