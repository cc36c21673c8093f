# A stop has all calls begin anew, also who is passed a wake-up by another one that does.
0 raw a b
1 recv a 10
2 vread a 3,5
3 vread a 16,b
0 write b 1
0 fionbio a 1
* stop
* cont
