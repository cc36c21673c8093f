/* Offsets in struct fib for the assembly; asserted in hooks/signal.c. */
#ifndef FIB_ARCH_OFFSETS_H
#define FIB_ARCH_OFFSETS_H

#define FIB_OFFSET_ATTENTION 20
#define FIB_OFFSET_IN_HOOK   24

#endif
