# A path may be another file's by then.
1 fifo a r
2 fifo b r
3 fifo c r
0 unlink
* stop
* cont
