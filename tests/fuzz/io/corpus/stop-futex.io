# A stop has a wait for a word begin anew: it is another one.
1 fwait 0 0 new
0 fboth 1 0 1 0 1
* stop
* cont
