# open: select for writing alone is not woken by a hang-up, as pollwake() goes by its key; the duplicate that it waits by begins with one
0 pipe a b
0 close b
1 select a:out
0 close a
