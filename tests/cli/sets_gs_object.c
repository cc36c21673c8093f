/* A library that sets the base of %gs by an instruction: for sets_gs.c. */
void set_base(void *base);
long get_word(void);

void set_base(void *base)
{
	__asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
}

long get_word(void)
{
	long word;

	__asm__ volatile("mov %%gs:0, %0" : "=r"(word));
	return word;
}
