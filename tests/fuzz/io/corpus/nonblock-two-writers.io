# O_NONBLOCK comes while two wait to write to a pipe: the first ends with a part, the second waits on.
0 pipe a b
0 pipesize b 1
1 pwritev2 b 70000
2 writev b 1
0 fionbio b 1
* sink 0 a
