# Who looks, and waits for more to look at, keeps what there is from nobody.
0 tcp a b
1 recv a 100 waitall peek
2 recv a 10
0 send b 10
