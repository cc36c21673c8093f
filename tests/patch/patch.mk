# Tests of the rewriter: make check-patch. Builds into $(B)/tests/patch/.

PT       := $(B)/tests/patch
PT_CXX   ?= $(if $(filter clang,$(CC)),clang++,g++)
PT_INSN  := preload/rewrite/arch/$(ARCH)
PT_SRC   := $(wildcard preload/rewrite/*.c $(PT_INSN)/*.c)
PT_ASM   := $(wildcard $(addsuffix /arch/$(ARCH)/*.S,hooks hooks/process preload))
PT_REW_O := $(patsubst %.c,$(PT)/%.o,$(PT_SRC)) \
            $(patsubst %.S,$(PT)/%.o,$(PT_ASM))
PT_LIB_O := $(PT_REW_O) $(PT)/tests/patch/passthru_init.o \
            $(PT)/tests/patch/passthru.o
PT_FLAGS := -O1 -g -pthread -D_GNU_SOURCE -fno-omit-frame-pointer \
            -Wall -Wextra -Wno-unused-parameter \
            -Wno-missing-field-initializers $(WERROR)
PT_PROGS := $(addprefix $(PT)/,t_window t_decode t_refuse p_step p_dlopen \
              p_cancel p_spawn p_signals p_mdwe libraw.so libraw2.so \
              known.so \
              passthru.so)

.PHONY: check-patch build-patch
check-patch: build-patch
	@tests/patch/run.sh $(PT)

build-patch: $(PT_PROGS)

$(PT)/tests/patch/passthru.o: tests/patch/passthru.c
	@mkdir -p $(@D)
	$(CC) $(CORE) -MMD -MP -c $< -o $@

$(PT)/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CORE) -MMD -MP -c $< -o $@

$(PT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(HOST) -MMD -MP -c $< -o $@

$(PT)/passthru.so: $(PT_LIB_O)
	$(CC) -shared -o $@ $^ -Wl,-z,now -Wl,-z,relro -Wl,-z,defs \
	  -Wl,--gc-sections

$(PT)/known.so: $(PT_REW_O) $(PT)/tests/patch/t_known.o \
               $(PT)/tests/patch/passthru.o $(B)/host/known_sites.o
	$(CC) -shared -o $@ $^ -Wl,-z,now -Wl,-z,relro -Wl,-z,defs \
	  -Wl,--gc-sections

$(PT)/t_window: tests/patch/t_window.c $(PT_INSN)/insn.c $(PT_INSN)/window.c \
                $(wildcard preload/*.h preload/rewrite/*.h $(PT_INSN)/*.h)
	@mkdir -p $(@D)
	$(CC) $(PT_FLAGS) $(INC) -o $@ $(filter %.c,$^)

$(PT)/t_decode: tests/patch/t_decode.c $(PT_INSN)/insn.c \
                $(PT_INSN)/insn_arch.h
	@mkdir -p $(@D)
	$(CC) $(PT_FLAGS) $(INC) -o $@ $(filter %.c,$^)

# A position-independent program lies far from libc.
$(PT)/t_refuse: tests/patch/t_refuse.c preload/rewrite/known/nobody.c $(PT_REW_O)
	$(CC) $(PT_FLAGS) $(INC) -fPIE -pie -o $@ $^

$(PT)/p_step: tests/patch/p_step.c
	@mkdir -p $(@D)
	$(CC) $(PT_FLAGS) -o $@ $< -lunwind -ldl

$(PT)/p_cancel: tests/patch/p_cancel.cc
	@mkdir -p $(@D)
	$(PT_CXX) $(PT_FLAGS) -o $@ $<

$(PT)/p_%: tests/patch/p_%.c
	@mkdir -p $(@D)
	$(CC) $(PT_FLAGS) -o $@ $< -ldl

$(PT)/libraw.so: tests/patch/l_raw.S tests/patch/l_raw.c
	@mkdir -p $(@D)
	$(CC) $(PT_FLAGS) -shared -fPIC -o $@ $^

$(PT)/libraw2.so: $(PT)/libraw.so
	cp $< $@
