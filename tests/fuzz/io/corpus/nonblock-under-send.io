# O_NONBLOCK that is set while a send waits is not for that send.
0 pair a b stream
1 send a 1048576 nosignal
0 nonblock a 1
* sink 3 b
