/*
 * Probes for perf(1), bpftrace(8) and gdb, in the notation of SystemTap's sys/sdt.h
 * where that is at hand when this is built: an instruction that does nothing, and
 * a note that tells where it is. docs/DEBUGGING.md lists them.
 */
#ifndef FIB_PROBE_H
#define FIB_PROBE_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define FIB_PROBE(name, a, b) DTRACE_PROBE2(fibhook, name, a, b)
#endif
#endif
#ifndef FIB_PROBE
#define FIB_PROBE(name, a, b) ((void)0)
#endif

#endif
