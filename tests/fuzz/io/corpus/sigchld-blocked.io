# Who has made it blocks SIGCHLD, or has ended: others in their turn.
0 action CHLD plain
1 mask block CHLD
3 fork 6
1 fork 5
0 pause
5 exit 0
6 exit 0
0 fork 7
7 exit 0
3 pause
