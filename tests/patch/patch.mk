# Tests of the rewriter. Builds into $(B)/tests/patch/.

PT := $(B)/tests/patch
REWRITE_C := $(wildcard preload/rewrite*.c)
PT_HOST_O := $(patsubst %.c,$(PT)/%.o,$(REWRITE_C) tests/patch/passthru_init.c)
PT_CORE_O := $(PT)/tests/patch/passthru.o $(PT)/preload/arch/x86_64/tramp.o

$(PT)/tests/patch/passthru.o: tests/patch/passthru.c
	@mkdir -p $(@D)
	$(CC) $(CORE) -MMD -MP -c $< -o $@

$(PT)/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CORE) -MMD -MP -c $< -o $@

$(PT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(HOST) -MMD -MP -c $< -o $@

$(PT)/passthru.so: $(PT_HOST_O) $(PT_CORE_O)
	$(CC) -shared -o $@ $^ -Wl,-z,now -Wl,-z,relro -Wl,-z,defs \
	  -Wl,--gc-sections
