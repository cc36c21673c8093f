# Select for writing alone does not end with a hang-up that was there before the close.
0 pipe a b
0 close b
1 select a:out
0 close a
