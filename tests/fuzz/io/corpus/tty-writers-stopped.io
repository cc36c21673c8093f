# who waited for another write was marked by a stop when it wrote already, and left it at a part
0 pty a b
0 spawn 5
3 write b 100000
1 write b 1048576
* stop
* cont
