# Who waits for what others wait for already has not looked itself; the number is gone when it does.
0 pipe a b
1 select a:in
2 select a:in
4 close a
4 close b
