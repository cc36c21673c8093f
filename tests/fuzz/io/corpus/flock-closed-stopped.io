# as recv-all-closed-stopped, of a lock that waits
0 memfd a 10
0 reopen a b
0 flock a ex
1 flock b ex
0 close b
* stop
* cont
0 flock a un
