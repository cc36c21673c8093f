0 action USR1 plain
0 pipe a b
1 mask block USR1
0 tkill 1 USR1
1 pselect a:in 0ms opens USR1
