# Who asks anew is in its place again: whoever stands behind it asks after it, and
# waits behind all whom it conflicts with (__locks_insert_block()).
0 memfd a 10
0 reopen a b
0 flock b ex
0 action USR1 restart
0 reopen a c
1 flock c ex
2 flock c ex
3 flock a ex
4 tkill 2 USR1
4 tkill 1 USR1
0 flock b un
