/* A loaded object, as dl_iterate_phdr() tells of it. */
#ifndef FIB_PRELOAD_OBJECT_H
#define FIB_PRELOAD_OBJECT_H

#include <gnu/libc-version.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

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

static inline bool fib_object_is_libc(const struct dl_phdr_info *info)
{
	return fib_object_has(info, (uintptr_t)gnu_get_libc_version);
}

static inline bool fib_object_is_ldso(const struct dl_phdr_info *info)
{
	return info->dlpi_addr == _r_debug.r_ldbase ||
	       (getauxval(AT_BASE) && info->dlpi_addr == getauxval(AT_BASE));
}

/** libc, ld.so, what glibc 2.34 made parts of libc: libpthread.so.0, librt-2.31.so, ... */
static inline bool fib_object_is_libcs(const struct dl_phdr_info *info)
{
	static const char *const part[] = { "libpthread", "librt" };
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		size_t n = strlen(part[i]);

		if (!strncmp(base, part[i], n) &&
		    (!strncmp(base + n, ".so.", 4) ||
		     !strncmp(base + n, "-2.", 3)))
			return true;
	}
	return fib_object_is_libc(info) || fib_object_is_ldso(info);
}

#endif
