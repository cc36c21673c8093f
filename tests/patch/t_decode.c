/*
 * Holds the instruction decoder against objdump: for each object named, every
 * instruction must have the same length, and branches the same target.
 * One line per object; exit status 1 if any differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insn_arch.h"

static long compared, differ;

/* objdump gives no length to what it takes for data, or breaks it apart. */
static int comparable(const char *mnemonic)
{
	static const char *const apart[] = {
		"(bad)", ".byte", "rex",      "data16",	  "lock",
		"repz",	 "repnz", "cs",	      "ds",	  "es",
		"ss",	 "fs",	  "gs",	      "addr32",	  "notrack",
		"bnd",	 "fwait", "xacquire", "xrelease",
	};

	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		size_t n = strlen(apart[i]);
		const char *rest = mnemonic + n;

		if (strncmp(mnemonic, apart[i], n))
			continue;
		/* With nothing behind it, a prefix alone. */
		while (*rest == ' ' || *rest == '\n' || *rest == '.' ||
		       (*rest >= 'A' && *rest <= 'Z'))
			rest++;
		if (!*rest || apart[i][0] == '(' || apart[i][0] == '.')
			return 0;
	}
	return !strstr(mnemonic, "(bad)");
}

static void compare(unsigned long addr, const uint8_t *bytes, int n,
		    const char *mnemonic)
{
	struct fib_insn in;
	int len = fib_insn_decode(bytes, (size_t)n, &in);
	unsigned long target;
	const char *p;
	char *end;

	compared++;
	if (len != n) {
		if (differ++ < 20) {
			printf("  %lx: objdump %d, we %d:", addr, n, len);
			for (int i = 0; i < n; i++)
				printf(" %02x", bytes[i]);
			printf(" %s", mnemonic);
		}
		return;
	}
	switch (in.kind) {
	case FIB_INSN_JMP:
	case FIB_INSN_JCC:
	case FIB_INSN_CALL:
	case FIB_INSN_LOOP:
	case FIB_INSN_XBEGIN:
		break;
	default:
		return;
	}
	p = strchr(mnemonic, '<');
	while (p && p > mnemonic && p[-1] == ' ')
		p--;
	while (p && p > mnemonic && p[-1] != ' ')
		p--;
	target = p ? strtoul(p, &end, 16) : 0;
	if (target != addr + (unsigned long)n + (unsigned long)(long)in.rel &&
	    differ++ < 20)
		printf("  %lx: target %lx: %s", addr, target, mnemonic);
}

static int check(const char *path)
{
	char cmd[512], line[1024];
	FILE *f;

	compared = differ = 0;
	snprintf(cmd, sizeof(cmd), "objdump -d -w -z '%s'", path);
	f = popen(cmd, "r");
	while (f && fgets(line, sizeof(line), f)) {
		uint8_t bytes[16];
		char *p, *end, *mnemonic;
		unsigned long addr = strtoul(line, &end, 16);
		int n = 0;

		if (end == line || end[0] != ':' || end[1] != '\t')
			continue;
		p = end + 2;
		mnemonic = strchr(p, '\t');
		if (!mnemonic)
			continue;
		*mnemonic++ = 0;
		while (n < 16) {
			unsigned long b = strtoul(p, &end, 16);

			if (end == p)
				break;
			bytes[n++] = (uint8_t)b;
			p = end;
		}
		/* fwait and what follows have a name of their own. */
		if (n > 1 && bytes[0] == 0x9b)
			continue;
		if (comparable(mnemonic))
			compare(addr, bytes, n, mnemonic);
	}
	if (!f || pclose(f) || compared < 1000) {
		printf("FAIL decode %s: objdump said little\n", path);
		return 1;
	}
	printf("%s decode %s: %ld instructions, %ld differ\n",
	       differ ? "FAIL" : "ok  ", path, compared, differ);
	return differ != 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= check(argv[i]);
	return failed;
}
