#!/bin/sh
# The table of calls for args.c: one line for each row of hooks.def on stdin.
# ROW(read, 3, "int fd", "void * buf", "size_t count")
sed -n 's/^FIB_HOOK\([0-6]\)(\(.*\))$/\1, \2/p' | awk -F', *' '{
	printf "ROW(%s, %d", $2, $1
	for (i = 0; i < $1; i++)
		printf ", \"%s %s\"", $(3 + 2 * i), $(4 + 2 * i)
	print ")"
}'
