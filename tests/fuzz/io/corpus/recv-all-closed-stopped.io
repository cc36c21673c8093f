# what the kernel has made anew after a stop is EBADF, and was made again by another number
0 tcp a b
1 recv a 1 waitall peek
0 close a
* stop
* cont
