# n_tty_read() looks at O_NONBLOCK before it looks at signals, each time that it is woken.
0 nofile 4096
0 pty a b
0 dupfd a h 1
0 action USR1 plain
3 read h 1
0 nonblock h 1
1 tkill 3 USR1
