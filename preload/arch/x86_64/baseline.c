/*
 * Was libc compiled for the first processors of this architecture? It says so
 * itself, in a note: glibc 2.33 and later. Then it has no vector register but
 * SSE's live at a system call, however new the processor: what is called by its
 * own choice of code for a processor (memcpy and its kin) makes no system call.
 */
#include <elf.h>
#include <gnu/libc-version.h>
#include <string.h>
#include "preload/object.h"
#include "preload/preload.h"
#include "runtime/sched.h"

#ifndef PT_GNU_PROPERTY /* glibc before 2.32 */
#define PT_GNU_PROPERTY 0x6474e553
#endif
#define ISA_NEEDED   0xc0008002u /* GNU_PROPERTY_X86_ISA_1_NEEDED */
#define ISA_BASELINE 1u		 /* and no bit of a later level */

/* One note's properties: type, size, value, each aligned to 8. */
static bool says_baseline(const char *at, const char *end)
{
	uint32_t head[2], value;

	while ((size_t)(end - at) >= sizeof(head)) {
		memcpy(head, at, sizeof(head));
		at += sizeof(head);
		if (head[1] > (size_t)(end - at))
			return false;
		if (head[0] == ISA_NEEDED && head[1] == sizeof(value)) {
			memcpy(&value, at, sizeof(value));
			return value == ISA_BASELINE;
		}
		at += FIB_ALIGN_UP((size_t)head[1], 8);
	}
	return false;
}

static bool is_baseline(const char *at, const char *end)
{
	ElfW(Nhdr) h;

	while ((size_t)(end - at) >= sizeof(h)) {
		const char *name = at + sizeof(h), *desc;

		memcpy(&h, at, sizeof(h));
		desc = name + FIB_ALIGN_UP((size_t)h.n_namesz, 4);
		if (desc > end || h.n_descsz > (size_t)(end - desc))
			return false;
		if (h.n_type == NT_GNU_PROPERTY_TYPE_0 && h.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4))
			return says_baseline(desc, desc + h.n_descsz);
		at = desc + FIB_ALIGN_UP((size_t)h.n_descsz, 8);
	}
	return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct fib_baseline found = { 0, 0 };
	bool baseline = false;

	if (!fib_object_has(info, (uintptr_t)gnu_get_libc_version))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_GNU_PROPERTY && fib_object_has(info, at))
			baseline = is_baseline((char *)at,
					       (char *)at + ph->p_memsz);
		else if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			found = (struct fib_baseline){ at, ph->p_memsz };
	}
	if (baseline)
		fib_baseline = found;
	return 1;
}

void fib_baseline_find(void)
{
	dl_iterate_phdr(look, NULL);
}
