# Who asks by the description of one that is interrupted and gone stands before those
# who came in between.
0 memfd a 1
0 reopen a b
0 lock b ex ofd
0 action USR1 plain
1 lock a ex ofd
0 reopen a c
2 lock c ex ofd
3 lock a ex ofd
4 tkill 1 USR1
0 lock b un ofd
