/*
 * The note by which libfib is found from outside: runtime/seen.h. Not in C, since
 * it holds a distance, which stays true where the object is loaded.
 */
	.section .note.fib, "a", @note
	.balign	4
	.long	4, 8, 0x666962 /* sizes of the two below, FIB_SEEN_NOTE */
	.asciz	"fib"	       /* FIB_SEEN_OWNER */
1:	.quad	fib_seen_object - 1b

	.section .note.GNU-stack, "", @progbits
