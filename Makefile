# libfibhook: unmodified blocking programs, run as fibers.
#
#   make             build/libfibhook.so and build/fibhook
#   make check       install what is missing, build and run every test
#   make demo        install what is missing, build and run the demonstration
#   make bench       figures beside their baselines, from one interleaved run
#   make soak        long stress runs (FIB_SEEDS=n)
#   make install     PREFIX=/usr/local DESTDIR=
#   make deps        install the Debian packages that the above need
#   make format      apply .clang-format
#   make clean
#   make help        this text
#
# V= shows the commands. CC=clang builds with clang. WERROR= keeps warnings from being errors.

B      ?= build
ifeq ($(origin CC),default)
CC     := gcc
endif
PREFIX ?= /usr/local
WERROR ?= -Werror
V      ?= @
OPT    ?= -O2
VERSION := 0.1.0

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
          -Wno-unused-parameter $(WERROR)
BASE   := -std=gnu11 $(OPT) -g -fPIC -fvisibility=hidden -pthread \
          -fno-omit-frame-pointer -fno-stack-protector -fno-strict-aliasing \
          -D_GNU_SOURCE -DFIB_VERSION='"$(VERSION)"' -I. $(WARN)
# The runtime and the hooks run below any libc function, where the vector
# registers belong to the program.
CORE   := $(BASE) -DFIB_PRELOAD -mgeneral-regs-only -ffreestanding \
          -fasynchronous-unwind-tables
ifeq ($(shell $(CC) --version | grep -c clang),0)
CORE   += -fno-tree-loop-distribute-patterns
endif
HOST   := $(BASE) -DFIB_PRELOAD

RUNTIME := $(wildcard runtime/*.c runtime/arch/x86_64/*.c)
RUNASM  := $(wildcard runtime/arch/x86_64/*.S)
HOOKS   := $(wildcard hooks/*.c)
CLI     := $(wildcard preload/cli*.c preload/dump*.c)
PRELOAD := $(filter-out $(CLI),$(wildcard preload/*.c))
PREASM  := $(wildcard preload/arch/x86_64/*.S)

CORE_O := $(patsubst %.c,$(B)/core/%.o,$(RUNTIME) $(HOOKS)) \
          $(patsubst %.S,$(B)/core/%.o,$(RUNASM) $(PREASM))
HOST_O := $(patsubst %.c,$(B)/host/%.o,$(PRELOAD))
CLI_O  := $(patsubst %.c,$(B)/host/%.o,$(CLI))

.PHONY: all check demo bench soak install deps format clean help
all: $(B)/libfibhook.so $(B)/fibhook

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

$(B)/libfibhook.so: $(CORE_O) $(HOST_O) preload/fibhook.map
	$(V)$(CC) -shared -o $@ $(CORE_O) $(HOST_O) -Wl,-soname,libfibhook.so \
	  -Wl,--version-script=preload/fibhook.map -Wl,-z,now -Wl,-z,relro \
	  -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--gc-sections

$(B)/fibhook: $(CLI_O)
	$(V)$(CC) -o $@ $(CLI_O) -ldl

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib
	install $(B)/fibhook $(DESTDIR)$(PREFIX)/bin/
	install $(B)/libfibhook.so $(DESTDIR)$(PREFIX)/lib/
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/fibhook.1 $(DESTDIR)$(PREFIX)/share/man/man1/

clean:
	rm -rf $(B)

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

-include tests/tests.mk demo/demo.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)
