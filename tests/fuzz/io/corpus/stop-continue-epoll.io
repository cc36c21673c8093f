# A stop and SIGCONT end epoll_wait() with EINTR.
0 epoll c
1 epwait c 1
* stop
* cont
