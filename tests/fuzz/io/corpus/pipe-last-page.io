# open: a write that has waited begins anew, and so with what is more than whole pages, if the last page has room for that
0 pipe a b
0 pipesize b 8192
0 fill b
1 write b 3
2 write b 5000
0 read a 4096
0 read a 4096
