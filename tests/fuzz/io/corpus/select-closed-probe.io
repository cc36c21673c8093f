# open: a probe of the full window wakes select, which finds its number closed; epoll does not tell of what nobody asks for
0 tcp a b
0 fill b
1 select a:pri 400ms
0 close a
* await 2
