/* Sites that are known since the library was built, see known.h. */
#include "preload/rewrite/known.h"

#include <string.h>

const uint8_t *fib_known_id(const struct dl_phdr_info *info)
{
	static const char gnu[4] = "GNU";

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;
		uintptr_t end = at + ph->p_memsz;

		if (ph->p_type != PT_NOTE)
			continue;
		while (at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			uintptr_t name = at + sizeof(*note);
			uintptr_t desc = name + ((note->n_namesz + 3) & -4u);

			if (note->n_type == NT_GNU_BUILD_ID &&
			    note->n_namesz == sizeof(gnu) &&
			    note->n_descsz == FIB_BUILD_ID &&
			    !memcmp((const void *)name, gnu, sizeof(gnu)))
				return (const uint8_t *)desc;
			/* Others are padded to their segment's alignment. */
			at = desc + note->n_descsz + ph->p_align - 1;
			at &= -(uintptr_t)ph->p_align;
		}
	}
	return NULL;
}

static const struct fib_known *find(const struct dl_phdr_info *info,
				    const struct fib_known_site **site)
{
	const uint8_t *id = fib_known ? fib_known_id(info) : NULL;

	*site = fib_known_sites;
	for (uint32_t i = 0; id && fib_known[i].nsites; i++) {
		if (!memcmp(fib_known[i].id, id, FIB_BUILD_ID))
			return &fib_known[i];
		*site += fib_known[i].nsites;
	}
	return NULL;
}

static bool take_site(struct fib_scan *scan, uintptr_t base,
		      const struct fib_known_site *known)
{
	uint8_t mark[FIB_WINDOW_MAX + 1] = { 0 };
	struct fib_code code = {
		.bytes = (const uint8_t *)base + known->start,
		.addr = base + known->start,
		.len = known->len,
		.mark = mark,
	};
	struct fib_site *site;
	uintptr_t slot = fib_scan_new_site(scan, &site);

	if (!slot)
		return false;
	if (known->entry)
		return !fib_window_entry(&code, known->at,
					 (uintptr_t)fib_vfork_stub, site);
	return !fib_scan_place(scan, &code, known->at, true, slot, site);
}

bool fib_known_take(struct fib_scan *scan, const struct dl_phdr_info *info)
{
	const struct fib_known_site *site;
	const struct fib_known *known = find(info, &site);
	struct fib_frames frames;

	/* A file that was edited keeps its id. */
	fib_frames_init(&frames, info);
	if (!known || !frames.hdr)
		return false;
	for (uint32_t i = 0; i < known->nsites; i++)
		if (memcmp((const void *)(info->dlpi_addr + site[i].start),
			   site[i].old, site[i].len))
			return false;
	fib_scan_expect(known->nsites);
	for (uint32_t i = 0; i < known->nsites; i++) {
		if (take_site(scan, info->dlpi_addr, &site[i]))
			continue;
		fib_scan_give_back(scan);
		return false;
	}
	scan->stats->objects++;
	scan->stats->known++;
	return true;
}
