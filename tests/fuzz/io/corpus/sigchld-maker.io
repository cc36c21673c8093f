# SIGCHLD is for the thread that has made the child.
0 action CHLD plain
1 fork 5
3 fork 6
* killchild 6 KILL
5 exit 0
