# SO_RCVTIMEO is for the whole call, though bytes come now and then.
0 pair a b stream
0 opt a rcvtimeo 600ms
1 recv a 100 waitall
* until 2 0 send b 1 nosignal
