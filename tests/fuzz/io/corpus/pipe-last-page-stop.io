# who is woken at a stop by one that has ended tried, and the last page had room for that; natively it looks at O_NONBLOCK first
0 pipe a b
0 fill b
0 read a 4096
1 vwrite b 3000,0,5000
2 pwritev2 b 1
3 writev b 1
0 nonblock b 1
0 read a 4096
* stop
* cont
