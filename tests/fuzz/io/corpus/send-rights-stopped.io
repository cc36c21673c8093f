# open: a stop has a send give back the last descriptor of the other end; who waits here may hear of that before it is stopped itself
0 pair a b stream
0 fill b
1 sendfd b 1 a
2 vwrite b 3000,0,5000 writev
0 close a
* stop
