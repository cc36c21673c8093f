# Poll for room hears of a shutdown, though its number is closed.
0 tcp a b
0 fill a
1 poll a:out
0 close a
0 shutdown b wr
