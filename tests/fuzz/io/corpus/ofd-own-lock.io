# What the first one in line waits for is the lock of one who stands behind it.
0 memfd a 1
0 reopen a b
0 reopen a c
0 lock a sh ofd
0 lock c sh ofd
1 lock b ex ofd
2 lock c ex ofd
0 lock a un ofd
2 lock c un ofd
