# Who waits for room at a closed number is not told by poll that its peer has shut.
0 pair a b stream
0 fill b
1 sendmmsg b 3 1
0 close b
0 shutdown a rd
