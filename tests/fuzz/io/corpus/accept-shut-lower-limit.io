# Who has a number above the limit since is told that nobody listens any more.
0 tcplisten a 1
1 accept a v
0 table 1
0 shutdown a
