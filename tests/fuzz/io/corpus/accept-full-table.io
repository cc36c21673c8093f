# accept() without a free descriptor fails at once.
0 tcplisten a 1
4 table 30
1 accept a e
