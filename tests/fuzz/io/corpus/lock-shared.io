# A lock is the description's: who asks for it by the same one has it as well, before
# others who came in between.
0 memfd a 10
0 reopen a b
0 flock b ex
0 reopen a c
1 flock a ex
0 dup a d
2 flock c ex
3 flock d ex
0 close a
0 flock b un
