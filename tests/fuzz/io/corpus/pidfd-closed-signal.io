# A handler ends a wait by a pidfd whose number is gone.
0 action USR1 plain
0 spawn 5
0 pidfd p 5
2 pidwait p
0 close p
4 tkill 2 USR1
