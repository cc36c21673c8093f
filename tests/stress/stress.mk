# Stress programs: make check-stress, and soak-stress for many seeds.
#
# FIB_SEED, FIB_SEEDS, FIB_DELAY, FIB_WORKERS: see tests/stress/main.c.
# STRESS=name restricts the scenarios, STRESS_BUILDS the builds.

STRESS        ?=
STRESS_BUILDS ?= plain asan tsan bare
STRESS_SRC    := $(wildcard tests/stress/*.c)

# gcc says that its ThreadSanitizer does not model fences; no data is passed
# by them here (they order a write before a read).
TSAN_QUIET := $(shell $(CC) -Werror -Wno-tsan -x c -c /dev/null \
                -o /dev/null 2>/dev/null && echo -Wno-tsan)

ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN := -fsanitize=thread $(TSAN_QUIET)
# The order of locks is checked in all of them: runtime/lock.h.
$(eval $(call FIB_VARIANT,plain,-DFIB_LOCK_RANKS $(LIB_HOST)))
$(eval $(call FIB_VARIANT,asan,-DFIB_LOCK_RANKS $(LIB_HOST) $(ASAN)))
$(eval $(call FIB_VARIANT,tsan,-DFIB_LOCK_RANKS $(LIB_HOST) $(TSAN)))
$(eval $(call FIB_VARIANT,bare,-DFIB_LOCK_RANKS $(PRE_HOST)))
$(B)/bare/runtime/%.o: BASE += $(BELOW)

STRESS_PROGS := $(STRESS_BUILDS:%=$(B)/tests/stress/%)
STRESS_O      = $(addprefix $(B)/$(1)/,$(STRESS_SRC:.c=.o) \
                  tests/stress/lib/start.o tests/stress/lib/restart.o $(LIB_OBJ))

$(B)/tests/stress/plain: $(call STRESS_O,plain)
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) -o $@ $^

$(B)/tests/stress/asan: $(call STRESS_O,asan)
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) $(ASAN) -o $@ $^

$(B)/tests/stress/tsan: $(call STRESS_O,tsan)
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) $(TSAN) -o $@ $^

# The preload's engine without hooks, which no sanitizer can follow: kernel threads
# without TLS of their own.
$(B)/tests/stress/bare: $(filter-out %/direct.o,$(addprefix $(B)/bare/, \
    $(STRESS_SRC:.c=.o) tests/stress/bare/start.o tests/stress/bare/hold.o \
    tests/support/bare.o \
    $(addsuffix .o,$(basename $(RUNTIME) $(RUNASM)))))
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) -o $@ $^

.PHONY: check-stress soak-stress build-stress
build-stress: $(STRESS_PROGS)

check-stress: build-stress
	@tests/stress/run.sh $(or $(FIB_SEEDS),2) '$(STRESS)' $(STRESS_PROGS)

soak-stress: build-stress
	@tests/stress/run.sh $(or $(FIB_SEEDS),100) '$(STRESS)' $(STRESS_PROGS)
