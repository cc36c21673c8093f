/*
 * The object of hostile.c, which is made in memory, changed there, written to a
 * file and mapped.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stddef.h>
#include <stdint.h>
#include "runtime/symtab.h"

/* Where things lie in the file; addresses in it are the same. */
enum {
	AT_DYNAMIC = 0x300,
	AT_DYNSYM = 0x400,
	AT_DYNSTR = 0x600,
	AT_NOTE = 0x900,
	AT_READ = 0x1000, /* two functions */
	AT_MAIN = 0x1800,
	AT_HDR = 0x2000,
	AT_FRAMES = 0x2100,
	AT_SECTIONS = 0x3000,
	AT_SYMTAB = 0x3200,
	AT_STRTAB = 0x3400,
	SIZE = 0x4000,
};

extern struct fib_symtab table; /* to which its symbol leads */
extern char *image;		/* in memory; from map_object() on, mapped */
extern char path[600];
extern int file;
extern const char *read_name;
/* What the unwind table says of both functions. */
extern uint8_t program[600];
extern size_t program_len;

void make_object(const char *name);
void map_object(void);

#endif
