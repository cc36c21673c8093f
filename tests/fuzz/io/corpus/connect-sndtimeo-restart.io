0 action USR1 restart
0 unixlisten a 0
0 unixsock b
0 crowd a
0 opt b sndtimeo 3000ms
1 connect b a
0 tkill 1 USR1
