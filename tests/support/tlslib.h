#ifndef TLSLIB_H
#define TLSLIB_H

int tlslib_next(void);
int tlslib_touched(void);

#endif
