# A stop has a read begin anew, by its number, which another file has by then.
0 pair a b stream
0 pair c d stream
1 read a 5
0 dup2 c a
* stop
* cont
0 send d 3
