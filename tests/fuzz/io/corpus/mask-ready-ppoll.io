# A descriptor is ready: the handler of a signal that the mask lets in does not run.
0 action USR1 plain
0 pipe a b
0 write b 1
1 mask block USR1
0 tkill 1 USR1
1 ppoll a:in opens USR1
1 pending USR1
