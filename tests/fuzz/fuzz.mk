# Arguments of system calls, fuzzed: make check-fuzz, and soak-fuzz for long.
#
# FUZZ_SEED=n repeats a run, FUZZ_SECONDS=n is for how long cases are begun.

FUZZ_SECONDS ?= 40
FUZZ_SEED    ?=

$(B)/tests/fuzz/rows.h: hooks/hooks.def tests/fuzz/rows.sh
	@mkdir -p $(@D)
	@sh tests/fuzz/rows.sh < $< > $@

$(B)/tests/fuzz/args: tests/fuzz/args.c tests/fuzz/gen.c tests/fuzz/args.h \
  $(B)/tests/fuzz/rows.h
	@$(CC) -std=gnu11 $(T_FLAGS) -I$(B)/tests/fuzz $(filter %.c,$^) -o $@

.PHONY: check-fuzz soak-fuzz
check-fuzz: all $(B)/tests/fuzz/args
	@python3 tests/fuzz/args.py --build $(B) --seconds $(FUZZ_SECONDS) \
	  $(FUZZ_SEED:%=--seed %)

soak-fuzz:
	@$(MAKE) --no-print-directory FUZZ_SECONDS=600 check-fuzz
