# The own group is another one by then.
0 fork 5
1 wait 5 mine
2 wait 5 mine
0 joins 5 5
* stop
* cont
