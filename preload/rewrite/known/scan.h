/* Between the two parts of the program that makes the table of known sites. */
#ifndef FIB_KNOWN_SCAN_H
#define FIB_KNOWN_SCAN_H

/** Prints the table: 0, or 1 if that failed. */
__attribute__((visibility("default"))) int fib_known_print(void);

#endif
