# Who had the last signal of the process has the next one.
0 action USR1 plain
0 mask block USR1
1 mask block USR1
0 kill USR1
1 mask unblock USR1
0 kill USR1
* kill USR1
2 mask block USR1
* kill USR1
2 mask unblock USR1
3 mask block USR1
* kill USR1
1 mask block USR1
* kill USR1
0 kill USR1
