# recvmmsg(): an error after the first message is kept for the next call.
0 pair a b dgram
0 send b 1
0 send b 1
0 recvmmsg a 2 8 fault2
0 soerror a
