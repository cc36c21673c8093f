# A number that is closed under poll(): the poll stays with the file.
0 pty a b
1 poll b:pri a:in
2 close b
