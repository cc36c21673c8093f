# Who reads pieces by a number that became another file's leaves the file to who waits beside it.
0 inotify a b
0 epoll z
1 readv a 1
2 read a 1
4 dup2 z a
0 pwritev2 b 1
