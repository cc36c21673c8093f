# A stop has calls begin anew: what is O_NONBLOCK by then does not wait.
0 pair a b seqpacket
0 inotify c d
0 tcplisten e 1
1 recv a 1
2 vread c 100,128 readv
3 accept e v
0 fionbio a 1
0 nonblock c 1
0 nonblock e 1
* stop
* cont
