/* The object that a hostile process maps: see hostile.c. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/cli/hostile.h"

char *image;
char path[600];
int file;
const char *read_name = "lie_read";

/* DW_CFA_def_cfa rsp+16 */
uint8_t program[600] = { 0x0c, 7, 16 };
size_t program_len = 3;

static char *place;

static char *put(char *at, const void *data, size_t len)
{
	memcpy(at, data, len);
	return at + len;
}

static char *put32(char *at, uint32_t val)
{
	return put(at, &val, 4);
}

/* One CIE, and an FDE for each function, which says its own program. */
static void make_frames(void)
{
	static const uint8_t cie[] = { 20,   0,	   0,	0, 0,	 0,    0,  0,
				       1,    'z',  'R', 0, 1,	 0x78, 16, 1,
				       0x1b, 0x0c, 7,	8, 0x90, 1,    0,  0 };
	const uint32_t functions[] = { AT_READ, AT_MAIN };
	char *at = image + AT_FRAMES + sizeof(cie), *row = image + AT_HDR + 12;

	memcpy(image + AT_FRAMES, cie, sizeof(cie));
	put32(image + AT_HDR, 0x3b031b01);
	put32(image + AT_HDR + 4, AT_FRAMES - AT_HDR - 4);
	put32(image + AT_HDR + 8, 2);
	for (int i = 0; i < 2; i++) {
		uint32_t fde = (uint32_t)(at - image);

		row = put32(row, functions[i] - AT_HDR);
		row = put32(row, fde - AT_HDR);
		at = put32(at, (uint32_t)(4 + 8 + 1 + program_len));
		at = put32(at, fde + 4 - AT_FRAMES);
		at = put32(at, functions[i] - (fde + 8));
		at = put32(at, 0x800);
		*at++ = 0;
		at = put(at, program, program_len);
	}
}

static size_t add_symbol(size_t where, int i, size_t strings, size_t end,
			 const char *name, uint64_t value, int type)
{
	Elf64_Sym s = { .st_name = (uint32_t)(end - strings),
			.st_info = (uint8_t)ELF64_ST_INFO(STB_GLOBAL, type),
			.st_shndx = 1,
			.st_value = value,
			.st_size = type == STT_FUNC ? 0x800 : 8 };

	put(image + where + (size_t)i * sizeof(s), &s, sizeof(s));
	put(image + end, name, strlen(name) + 1);
	return end + strlen(name) + 1;
}

static void make_symbols(size_t where, size_t strings, uint64_t base)
{
	size_t end = strings + 1;

	end = add_symbol(where, 1, strings, end, "fib_symtab",
			 (uintptr_t)&table - base, STT_OBJECT);
	end = add_symbol(where, 2, strings, end, read_name, AT_READ, STT_FUNC);
	add_symbol(where, 3, strings, end, "lie_main", AT_MAIN, STT_FUNC);
}

static void make_headers(void)
{
	const Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
					     ELFDATA2LSB, 1 },
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_phoff = sizeof(eh),
				.e_shoff = AT_SECTIONS,
				.e_ehsize = sizeof(eh),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 4,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 3 };
	const Elf64_Phdr ph[] = {
		{ .p_type = PT_LOAD, .p_memsz = SIZE, .p_filesz = SIZE },
		{ .p_type = PT_NOTE, .p_vaddr = AT_NOTE, .p_memsz = 0x40 },
		{ .p_type = PT_DYNAMIC, .p_vaddr = AT_DYNAMIC },
		{ .p_type = PT_GNU_EH_FRAME, .p_vaddr = AT_HDR },
	};
	const Elf64_Dyn dyn[] = { { DT_SYMTAB, { AT_DYNSYM } },
				  { DT_STRTAB, { AT_DYNSTR } },
				  { DT_NULL, { 0 } } };
	const Elf64_Shdr sh[] = {
		{ 0 },
		{ .sh_type = SHT_SYMTAB,
		  .sh_offset = AT_SYMTAB,
		  .sh_size = 4 * sizeof(Elf64_Sym),
		  .sh_link = 2 },
		{ .sh_type = SHT_STRTAB,
		  .sh_offset = AT_STRTAB,
		  .sh_size = SIZE - AT_STRTAB },
	};

	put(put(image, &eh, sizeof(eh)), ph, sizeof(ph));
	put(image + AT_DYNAMIC, dyn, sizeof(dyn));
	put(image + AT_SECTIONS, sh, sizeof(sh));
}

void make_object(const char *name)
{
	place = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "libfibhook.so%s", name);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	image = calloc(1, SIZE);
	if (file < 0 || place == MAP_FAILED || !image)
		exit(1);
	make_headers();
	make_frames();
	make_symbols(AT_DYNSYM, AT_DYNSTR, (uintptr_t)place);
	make_symbols(AT_SYMTAB, AT_STRTAB, (uintptr_t)place);
}

void map_object(void)
{
	if (pwrite(file, image, SIZE, 0) != SIZE ||
	    mmap(place, SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) !=
		    place)
		exit(1);
	free(image);
	image = place;
}
