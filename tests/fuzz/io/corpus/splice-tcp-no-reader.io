# splice from an empty TCP socket to a pipe without readers
# splice of tcp: -1 EPIPE -> blocks [1]
# natively: 3 = -1 EPIPE; actor 2 had SIGPIPE
# hooked: nothing happens
0 tcp a b
0 pipe c d
0 close c
2 splice b d 1
