# A stop has a wait for a child begin anew, by a number that is nobody's.
0 fork 5
0 pidfd p 5
1 pidwait p
0 close p
* stop
* cont
