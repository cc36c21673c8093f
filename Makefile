# libfibhook: unmodified blocking programs, run as fibers.
#
#   make             build/libfibhook.so, build/fibhook; libfib.so, libfib.a
#   make check       install what is missing, build and run every test
#   make demo        install what is missing, build and run the demonstration
#   make bench       figures beside their baselines, from one interleaved run
#   make soak        long stress runs (FIB_SEEDS=n)
#   make install     PREFIX=/usr/local DESTDIR= (packaging/packaging.mk has all)
#   make uninstall   with the same variables
#   make deb         Debian packages, in build/deb/
#   make dist        the release, a tar.xz: one binary for every glibc
#   make deps        install the Debian packages that the above need
#   make house       figures of the sources: sizes, circles, layers
#   make format      apply .clang-format
#   make clean
#   make help        this text
#
# V= shows the commands. CC=clang builds with clang; CFLAGS and LDFLAGS are added.
# WERROR=-Werror makes warnings errors, as the tests do.

B      ?= build
ARCH   ?= x86_64
ifeq ($(origin CC),default)
CC     := gcc
endif
WERROR ?=
V      ?= @
OPT    ?= -O2
VERSION := $(shell cat VERSION)

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
          -Wno-unused-parameter $(WERROR)
# What is the machine's own is in arch/$(ARCH) of the folder it belongs to; its
# headers are called *_arch.h, and found by this path.
INC    := -I. $(addprefix -I,$(wildcard */arch/$(ARCH) */*/arch/$(ARCH)))
# The user's flags come first: what the code cannot do without wins.
BASE   := -std=gnu11 $(OPT) -g $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -pthread \
          -fno-omit-frame-pointer -fno-stack-protector -fno-strict-aliasing \
          -D_GNU_SOURCE -DFIB_VERSION='"$(VERSION)"' $(INC) $(WARN)
# The runtime and the hooks run below any libc function, where the vector
# registers belong to the program. (clang 11 does not know the short form.)
GENERAL := $(if $(shell $(CC) -mgeneral-regs-only -Werror -x c -c /dev/null \
             -o /dev/null 2>&1),-mno-mmx -mno-sse -mno-80387,-mgeneral-regs-only)
# What the host of the engine is: runtime/host.h.
PRE_HOST := -Ihooks/host
LIB_HOST := -Ilibfib/host
BELOW  := $(GENERAL) -ffreestanding -U_FORTIFY_SOURCE -fno-lto \
          -fasynchronous-unwind-tables
ifeq ($(shell $(CC) --version | grep -c clang),0)
BELOW  += -fno-tree-loop-distribute-patterns
endif
CORE   := $(BASE) $(PRE_HOST) $(BELOW)
HOST   := $(BASE) $(PRE_HOST)

sources = $(sort $(foreach dir,$(1),$(wildcard $(dir)/*.$(2) $(dir)/*/*.$(2) \
            $(dir)/arch/$(ARCH)/*.$(2) $(dir)/*/arch/$(ARCH)/*.$(2))))
RUNTIME := $(call sources,runtime,c)
RUNASM  := $(call sources,runtime,S)
HOOKS   := $(call sources,hooks,c)
HOOKASM := $(call sources,hooks,S)
CLI     := $(call sources,cli,c)
# What the command and the library have both.
SHARED  := $(call sources,shared,c)
PRELOAD := $(call sources,preload,c)
PREASM  := $(call sources,preload,S)

CORE_O := $(patsubst %.c,$(B)/core/%.o,$(RUNTIME) $(HOOKS)) \
          $(patsubst %.S,$(B)/core/%.o,$(RUNASM) $(HOOKASM) $(PREASM))
HOST_O := $(patsubst %.c,$(B)/host/%.o,$(PRELOAD) $(SHARED))
CLI_O  := $(patsubst %.c,$(B)/host/%.o,$(CLI) $(SHARED))

# The engine as a library, but for what a host needs that is below libc: bare
# kernel threads, dedicated fibers, filters, the monitor.
BARE    := $(addprefix runtime/,aside.c bare.c below.c dedicated.c messenger.c monitor.c \
             spares.c trace.c uring.c uring_ring.c uring_try.c watch.c)
LIB_SRC := $(filter-out $(BARE),$(RUNTIME)) \
           $(wildcard libfib/*.c)
LIB_ASM := $(filter-out %/clone.S %/raw.S,$(RUNASM)) $(call sources,libfib,S)
LIB_OBJ := $(LIB_SRC:.c=.o) $(LIB_ASM:.S=.o)
LIB_O   := $(addprefix $(B)/lib/,$(LIB_OBJ))

.PHONY: all check demo bench soak deps house format clean help
all: $(B)/libfibhook.so $(B)/fibhook $(B)/libfib.so $(B)/libfib.a $(B)/libfib.pc

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

$(B)/core/%.o: %.c
	@mkdir -p $(@D)
	$(V)$(CC) $(CORE) -MMD -MP -c $< -o $@

$(B)/core/%.o: %.S
	@mkdir -p $(@D)
	$(V)$(CC) $(CORE) -MMD -MP -c $< -o $@

$(B)/host/%.o: %.c
	@mkdir -p $(@D)
	$(V)$(CC) $(HOST) -MMD -MP -c $< -o $@

# $(1): name, $(2): flags. The tests add variants of their own.
define FIB_VARIANT
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(V)$$(CC) $$(BASE) $(2) -MMD -MP -c $$< -o $$@

$(B)/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(V)$$(CC) $$(BASE) -MMD -MP -c $$< -o $$@
endef
# What it does not use of the engine, the linker leaves out.
$(eval $(call FIB_VARIANT,lib,$(LIB_HOST) -ffunction-sections -fdata-sections))

$(B)/libfib.so: $(LIB_O) libfib/libfib.map
	$(V)$(CC) -shared -pthread $(LDFLAGS) -o $@ $(LIB_O) \
	  -Wl,-soname,libfib.so.0 -Wl,--version-script=libfib/libfib.map \
	  -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--gc-sections
	$(V)ln -sf libfib.so $(B)/libfib.so.0

# One object, in which only the public names are global. A program that is built
# with a sanitizer needs the library built so as well: libfib/undefined.c. $(1): -asan, -tsan or
# nothing, $(2): the variant.
define FIB_ARCHIVE
$(B)/libfib$(1).a: $(addprefix $(B)/$(2)/,$(LIB_OBJ))
	$$(V)ld -r -o $$(@:.a=.o) $$^ $(if $(findstring asan,$(1)),$$$$(nm -u $$^ | sed -n \
	  's/^ *U \(__ubsan_[a-z0-9_]*\)$$$$/--defsym=\1=fib_san_undefined/p' | sort -u))
	$$(V)objcopy --localize-hidden -w --localize-symbol='__ubsan_*' $$(@:.a=.o)
	$$(V)rm -f $$@
	$$(V)ar rcs $$@ $$(@:.a=.o)
endef
$(eval $(call FIB_ARCHIVE,,lib))
$(eval $(call FIB_ARCHIVE,-asan,asan))
$(eval $(call FIB_ARCHIVE,-tsan,tsan))

$(B)/fibhook.map: preload/fibhook.map preload/symbols.def
	$(V)$(CC) -E -P -x c -I. $< -o $@

# The sites of this machine's libc and ld.so: preload/rewrite/known.h.
KNOWN_O := $(filter $(B)/host/preload/rewrite/%,$(HOST_O)) \
           $(addprefix $(B)/host/preload/rewrite/known/,scan.o nobody.o) \
           $(filter $(B)/core/hooks/% $(B)/core/preload/%,$(patsubst %.S,$(B)/core/%.o,$(HOOKASM) $(PREASM)))

$(B)/libknown.so: $(KNOWN_O)
	$(V)$(CC) -shared $(LDFLAGS) -o $@ $^ -Wl,-z,now -Wl,-z,defs -Wl,--gc-sections

$(B)/known: $(B)/host/preload/rewrite/known/main.o $(B)/libknown.so
	$(V)$(CC) -pthread $(LDFLAGS) -o $@ $^ -Wl,-rpath,'$$ORIGIN'

$(B)/known_sites.c: $(B)/known
	$(V)env -u LD_PRELOAD $< > $@.new
	$(V)mv $@.new $@

$(B)/host/known_sites.o: $(B)/known_sites.c
	$(V)$(CC) $(HOST) -MMD -MP -c $< -o $@

HOST_O += $(B)/host/known_sites.o

$(B)/libfibhook.so: $(CORE_O) $(HOST_O) $(B)/fibhook.map preload/sections.ld
	$(V)$(CC) -shared $(LDFLAGS) -o $@ $(CORE_O) $(HOST_O) -Wl,-soname,libfibhook.so \
	  -Wl,--version-script=$(B)/fibhook.map -Wl,-z,now -Wl,-z,relro \
	  -Wl,-z,defs -Wl,-Bsymbolic -Wl,-T,preload/sections.ld -Wl,--exclude-libs,ALL -Wl,--gc-sections

# The numbers of all calls, by name: CALL(read, 0)
$(B)/include/fibhook_calls.h:
	@mkdir -p $(@D)
	$(V)echo '#include <asm/unistd.h>' | $(CC) $(CPPFLAGS) -E -dM - | sed -n \
	  's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/CALL(\1, \2)/p' | sort > $@.new
	$(V)mv $@.new $@

# The names of all points of chaos: POINT(notify)
$(B)/include/fibhook_points.h: $(RUNTIME) $(HOOKS) \
    $(filter-out runtime/chaos.h,$(wildcard runtime/*.h hooks/*/*.h))
	@mkdir -p $(@D)
	$(V)cat $^ | sed -n 's/.*FIB_CHAOS_\(POINT\|ODDS\)(\([a-z_]*\)[,)].*/POINT(\2)/p' | \
	  sort -u > $@

$(B)/host/shared/near.o: $(B)/include/fibhook_points.h
$(B)/host/shared/near.o: HOST += -I$(B)/include
$(B)/host/cli/dump/table.o: $(B)/include/fibhook_calls.h
$(B)/host/cli/dump/table.o: HOST += -I$(B)/include

$(B)/fibhook: $(CLI_O)
	$(V)$(CC) $(LDFLAGS) -o $@ $(CLI_O) -ldl

clean:
	rm -rf $(B)

house: all
	@python3 tests/unit/house.py --build $(B)

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

include packaging/packaging.mk
-include tests/tests.mk demo/demo.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)
