# The first writer looks, finds no room, and stands behind the other one.
0 pipe a b
0 pipesize b 8192
0 fill b
1 write b 5000
2 write b 5000
0 pipesize b 8192
0 read a 4096
0 read a 5000
* sink 4 a
