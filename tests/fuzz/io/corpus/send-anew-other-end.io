# open: a send that a stop has begin anew at a number that is the other end by now finds its old file open yet, which natively its end has closed
0 pair a b stream
0 fill b
1 sendfd b 1 a
0 dup2 a b
* stop
* cont
