/* A loaded object, as dl_iterate_phdr() tells of it. */
#ifndef FIB_PRELOAD_OBJECT_H
#define FIB_PRELOAD_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/** Does @addr lie in one of its segments? */
static inline bool fib_object_has(const struct dl_phdr_info *info,
				  uintptr_t addr)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD &&
		    addr - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

#endif
