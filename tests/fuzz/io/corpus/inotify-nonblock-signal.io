# inotify_read() looks at O_NONBLOCK before it looks at signals, each time.
0 inotify a b
0 action USR1 plain
1 preadv2 a 1
0 nonblock a 1
0 tkill 1 USR1
