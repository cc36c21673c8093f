/* Offsets in struct fib for the assembly; asserted in hooks/signal/arch/. */
#ifndef FIB_OFFSETS_ARCH_H
#define FIB_OFFSETS_ARCH_H

#define FIB_OFFSET_ATTENTION 20
#define FIB_OFFSET_IN_HOOK   24

#endif
