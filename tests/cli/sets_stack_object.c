/*
 * A library that sets a signal stack by an instruction of its own, in code that is in no
 * frame table, as Go's runtime does.
 */
__asm__(".text\n"
	".globl set_stack\n"
	".type set_stack, @function\n"
	"set_stack:\n"
	"	mov $131, %eax\n"
	"	syscall\n"
	"	ret\n"
	".size set_stack, .-set_stack\n");
