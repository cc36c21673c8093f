# accept4() looks at its flags before it waits.
0 unixlisten a 1
1 accept4 a e badflags
