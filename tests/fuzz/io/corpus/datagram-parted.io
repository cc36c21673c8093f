# A send waits for whom it names; the socket is connected to none meanwhile. It used a CPU for ever.
0 unixdgram a
0 unixdgram b
0 connect b a
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
0 sendto b a 1
1 sendto b a 1
0 disconnect b
