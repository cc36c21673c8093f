# vmsplice() does not go by O_NONBLOCK, and a stop has it begin anew: it waits on.
0 pipe a b
0 fill b
1 vwrite b 3,0,5000 vmsplice
0 nonblock b 1
* stop
* cont
