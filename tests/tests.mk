# The test run. Included by the top Makefile, which defines B and CC.
#
#   make check             everything, through tests/run.sh
#   make check-hooks       behaviour programs, natively and hooked
#   make check-locks       a part of them, with a library that checks its locks
#   make check-native      behaviour programs, natively only
#   make check-apps        real programs from Debian packages
#   make check-sandbox     programs in sandboxes, their own and others'
#   make check-<part>      one part: unit patch clang fuzz fuzz-io stress model cli hostile
#   make check-distros     on other releases of Debian, in chroots
#   make check-suites      other projects' test suites, all of them
#
#   make soak              the long repeats: REPEAT, RUNS, FIB_SEEDS
#   make soak-undefined    behaviour programs, with UBSan's traps in the library
#
# ONLY=io/ restricts check-hooks, ONLY=tinyproxy check-apps; REPEAT=n repeats
# behaviour programs, RUNS=n the applications.
# A part is a target check-<part> whose last line is "N passed, N failed"
# (", N skipped"). A part of its own adds its name to CHECKS.

CXX    ?= g++
ONLY   ?=
REPEAT ?= 1
RUNS   ?= 1

TEST_DEPS := gcc g++ make libc6-dev check libsubunit-dev pkg-config \
             binutils libunwind-dev python3 openssl microsocks \
             tinyproxy-bin stunnel4 memcached redis-tools man-db groff-base \
             mandoc valgrind debootstrap gdb ltrace \
             openssh-server openssh-client vsftpd chrony nginx-light \
             bubblewrap libcap2-bin strace prometheus tmux \
             systemtap-sdt-dev libncurses-dev iproute2 libjemalloc2 \
             libmimalloc2.0 libtcmalloc-minimal4 libeatmydata1 faketime torsocks

CHECKS := unit library patch hooks locks fuzz fuzz-io stress apps sandbox hosts cli hostile install distros clang

T_WARN  := -Wall -Wextra $(WERROR)
T_FLAGS := -O1 -g -pthread -D_GNU_SOURCE -Itests/support $(T_WARN)
T_C     := $(sort $(wildcard tests/hooks/*/*.c))
T_CC    := $(sort $(wildcard tests/hooks/*/*.cc))
T_PROGS := $(T_C:%.c=$(B)/%) $(T_CC:%.cc=$(B)/%)
T_LIBS  := $(B)/tests/support/libttls.so $(B)/tests/support/libtctor.so \
           $(B)/tests/support/libtshim.so \
           $(B)/tests/support/libtfutex.so
# Parts of libc of their own, before glibc 2.34.
T_LIBC  := -Wl,--as-needed -lrt -ldl -lresolv -lanl -lutil -Wl,--no-as-needed
T_RPATH := -Wl,-rpath,'$$ORIGIN/../../support'

# What is missing comes first, so the run is a make of its own.
check:
	@$(MAKE) --no-print-directory deps
	@B='$(B)' MAKE='$(MAKE)' WERROR=-Werror bash tests/run.sh

soak: REPEAT := 10
soak: RUNS := 20
soak:
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory all build-tests
	@$(MAKE) --no-print-directory REPEAT=$(REPEAT) check-hooks
	@$(MAKE) --no-print-directory RUNS=$(RUNS) check-apps
	@$(MAKE) --no-print-directory FIB_SEEDS=$(or $(FIB_SEEDS),1000) \
	  check-stress
	@$(MAKE) --no-print-directory soak-fuzz soak-fuzz-io
	@$(MAKE) --no-print-directory HOSTILE_SECONDS=600 \
	  HOSTILE_SEED=$(or $(FIB_SEED),100000) check-hostile

.PHONY: check-sandbox check-clang check-hooks check-native check-apps build-tests print-checks

$(B)/tests/support/libttls.so: tests/support/tlslib.c tests/support/tlslib.h
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) -fPIC -shared $< -o $@

$(B)/tests/support/libtfutex.so: tests/support/futexlib.c
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) -fPIC -shared $< -o $@

$(B)/tests/support/libtctor.so: tests/support/ctorlib.c
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) -fPIC -shared $< -o $@

$(B)/tests/support/libtshim.so: tests/support/shimlib.c
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) -fPIC -shared $< -o $@ -ldl

# The numbers of all calls, by name.
$(B)/tests/support/filter_calls.h:
	@mkdir -p $(@D)
	@echo '#include <asm/unistd.h>' | $(CC) -E -dM - | sed -n \
	  's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/CALL(\1, \2)/p' > $@

$(B)/tests/support/filter: tests/support/filter.c $(B)/tests/support/filter_calls.h
	@$(CC) -std=gnu11 $(T_FLAGS) -I$(B)/tests/support $< -o $@

$(T_C:%.c=$(B)/%): $(B)/%: %.c $(wildcard tests/support/*.h)
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) $(T_EXTRA) $< -o $@ $(T_RPATH) $(T_LINK) $(T_LIBC)

$(T_CC:%.cc=$(B)/%): $(B)/%: %.cc $(wildcard tests/support/*.h)
	@mkdir -p $(@D)
	@$(CXX) -std=gnu++20 $(T_FLAGS) $(T_EXTRA) $< -o $@ $(T_RPATH) $(T_LINK) $(T_LIBC)

# What programs share beside tests/support, which all depend on.
$(patsubst %.c,$(B)/%,$(shell grep -l '"../calls.h"' $(T_C))): tests/hooks/calls.h
$(foreach h,$(filter-out %/calls.h,$(wildcard tests/hooks/*/*.h)),$(eval \
	$(patsubst %.c,$(B)/%,$(shell grep -l '"$(notdir $h)"' $(dir $h)*.c)): $h))

# The compiler turns read() into __read_chk() and so on.
$(B)/tests/hooks/io/fortify: T_EXTRA := -O2 -D_FORTIFY_SOURCE=2
# This one has a library whose constructor starts a thread before main().
$(B)/tests/hooks/thread/ctor_thread: $(B)/tests/support/libtctor.so
$(B)/tests/hooks/thread/ctor_thread: T_LINK := -L$(B)/tests/support -ltctor
# And this one another that has some functions in libc's place.
$(B)/tests/hooks/thread/foreign_calls: $(B)/tests/support/libtshim.so
$(B)/tests/hooks/thread/foreign_calls: T_LINK := -L$(B)/tests/support -ltshim
$(B)/tests/hooks/thread/float_flags $(B)/tests/hooks/signal/float_handler: T_LINK := -lm
$(B)/tests/hooks/thread/registers: T_LINK := -lm
# Its functions have names at run time.
$(B)/tests/hooks/crash/backtrace: T_LINK := -rdynamic -lunwind -ldl
$(B)/tests/hooks/crash/message: T_EXTRA := -O2 -D_FORTIFY_SOURCE=2 \
  -fstack-protector-all
$(B)/tests/hooks/thread/exec_stack: T_LINK := -Wl,-z,execstack

build-tests: $(T_PROGS) $(T_LIBS) $(B)/tests/support/filter

check-hooks: all build-tests
	@python3 tests/support/behave.py --build $(B) --repeat $(REPEAT) \
	  $(ONLY:%=--only %) $(T_C) $(T_CC)

# The library with FIB_LOCK_RANKS: the order of its locks is checked.
.PHONY: check-locks build-checked
LOCKS_ONLY ?= futex/ signal/k signal/m signal/p process/fork process/setuid \
                thread/c io/close io/e io/one io/presumed net/accept_st poll/ signal/woken

build-checked:
	@$(MAKE) --no-print-directory B=$(B)/checked \
	  CPPFLAGS='$(CPPFLAGS) -DFIB_LOCK_RANKS' \
	  $(B)/checked/libfibhook.so $(B)/checked/fibhook

check-locks: build-checked build-tests
	@python3 tests/support/behave.py --build $(B) --library $(B)/checked \
	  --chaos $(or $(FIB_SEED),1) --repeat $(REPEAT) \
	  $(patsubst %,--only %,$(or $(ONLY),$(LOCKS_ONLY))) $(T_C) $(T_CC)

# What C leaves undefined ends in SIGILL. But for addresses in what may not be there, which
# prefetches make, and for what the program has aligned badly.
TRAPS := -fsanitize=undefined -fsanitize-undefined-trap-on-error -fno-sanitize=null,alignment

.PHONY: soak-undefined
soak-undefined: build-tests
	@$(MAKE) --no-print-directory B=$(B)/undefined CFLAGS='$(CFLAGS) $(TRAPS)' \
	  $(B)/undefined/libfibhook.so $(B)/undefined/fibhook
	@python3 tests/support/behave.py --build $(B) --library $(B)/undefined \
	  --repeat $(REPEAT) $(ONLY:%=--only %) $(T_C) $(T_CC)

# The other compiler.
check-clang:
	@if ! command -v clang >/dev/null; then \
	  echo "skip clang: it is not installed"; \
	  echo "0 passed, 0 failed, 1 skipped"; \
	elif $(MAKE) --no-print-directory -k B=$(B)/clang CC=clang WERROR=-Werror \
	  all; then \
	  echo "1 passed, 0 failed"; \
	else \
	  echo "FAIL clang: does not build without warnings"; \
	  echo "0 passed, 1 failed"; exit 1; \
	fi

check-native: build-tests
	@python3 tests/support/behave.py --native --build $(B) $(ONLY:%=--only %) \
	  $(T_C) $(T_CC)

check-apps: all $(B)/demo/files
	@python3 tests/apps/apps.py --build $(B) --runs $(RUNS) \
	  $(ONLY:%=--only %)

# Programs that sandbox themselves, or are started in a sandbox.
check-sandbox: all $(B)/tests/support/filter
	@/usr/bin/python3 tests/apps/sandbox.py --build $(B) $(ONLY:%=--only %)

-include tests/unit/unit.mk tests/patch/patch.mk tests/stress/stress.mk
-include tests/counts/counts.mk tests/cli/cli.mk tests/suites/suites.mk tests/model/model.mk
-include tests/libfib/libfib.mk tests/distros/distros.mk tests/install/install.mk tests/fuzz/fuzz.mk
-include tests/hosts/hosts.mk

# What most parts need, made at once so that all CPUs have work.
.PHONY: build-checks
build-checks: all build-tests build-checked build-unit build-patch build-stress \
              build-library

print-checks:
	@echo $(CHECKS)
