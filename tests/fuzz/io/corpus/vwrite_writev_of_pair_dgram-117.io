# vwrite writev of pair dgram: blocks -> -1 EPIPE [1e]
# natively: 4 = 0
# hooked: 2 = -1 EPIPE; 4 = 0
0 pair a b dgram
0 fill b
1 vwrite b 3,0,5 writev
0 read a 1
0 shutdown a
