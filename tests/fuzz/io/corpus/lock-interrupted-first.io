# The same of the first in line.
# one CPU: who was behind it is woken, and asks anew as well
0 memfd a 10
0 reopen a b
0 flock b ex
0 action USR1 restart
0 reopen a c
0 reopen a d
1 flock a ex
2 flock c ex
3 flock d ex
4 tkill 1 USR1
0 flock b un
0 flock a un
0 flock c un
