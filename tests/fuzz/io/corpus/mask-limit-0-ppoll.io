# Nothing is ready, no time to wait: ppoll() and pselect() say EINTR ...
0 action USR1 plain
0 pipe a b
1 mask block USR1
0 tkill 1 USR1
1 ppoll a:in 0ms opens USR1
