# All that is in the buffer when the socket is shut arrives, as much as natively.
0 tcp a b
0 memfd c 8388608
1 sendfile b c 8388608
0 shutdown b rdwr
* sink 3 a
