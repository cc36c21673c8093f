# The same of a part of a file.
0 memfd a 10
0 reopen a b
0 lock b ex ofd
0 dup a d
0 reopen a c
1 lock a ex ofd
2 lock c ex ofd
3 lock d ex ofd
0 lock b un ofd
