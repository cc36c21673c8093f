# The end of a pipe that is read takes no file.
0 pipe a b packet
0 memfd c 1
1 sendfile a c 1
