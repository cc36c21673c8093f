# A send of which a part is sent stays with its file when the number is closed.
0 pair a b stream
1 send a 1048576 nosignal
0 close a
* sink 3 b
0 pair c d stream
0 send c 1
