# splice from an empty TCP socket to a pipe without readers
0 tcp a b
0 pipe c d
0 close c
2 splice b d 1
