# __WNOTHREAD: the children of the calling thread.
1 fork 5
2 wait 5 nothread nohang
1 wait 5 nothread nohang
