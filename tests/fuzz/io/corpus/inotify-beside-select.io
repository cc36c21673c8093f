# The same of inotify.
0 inotify a b
1 select a:in
2 read a 100
0 unread a
