# the first in line finds its path gone when it begins anew after a stop, and those behind it do so too
0 action USR1 restart
1 fifo f w
2 fifo h w
3 fifo d w
4 fifo e w
0 tkill 1 USR1
0 tkill 2 USR1
0 unlink
* stop
* cont
