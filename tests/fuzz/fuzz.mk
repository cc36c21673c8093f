# Arguments of system calls, fuzzed: make check-fuzz, and soak-fuzz for long.
#
# check-fuzz makes the same FUZZ_CASES cases of FUZZ_SEED each time, so that its
# verdict is one; soak-fuzz those of a new seed, for FUZZ_SECONDS.

FUZZ_CASES   ?= 2000
FUZZ_SEED    ?= 1
FUZZ_SECONDS ?= 600

$(B)/tests/fuzz/rows.h: hooks/hooks.def tests/fuzz/rows.sh
	@mkdir -p $(@D)
	@sh tests/fuzz/rows.sh < $< > $@

$(B)/tests/fuzz/args: tests/fuzz/args.c tests/fuzz/gen.c tests/fuzz/args.h \
  $(B)/tests/fuzz/rows.h
	@$(CC) -std=gnu11 $(T_FLAGS) -I$(B)/tests/fuzz $(filter %.c,$^) -o $@

.PHONY: check-fuzz soak-fuzz
check-fuzz: all $(B)/tests/fuzz/args
	@python3 tests/fuzz/args.py --build $(B) --cases $(FUZZ_CASES) \
	  --seed $(FUZZ_SEED)

soak-fuzz: all $(B)/tests/fuzz/args
	@python3 tests/fuzz/args.py --build $(B) --seconds $(FUZZ_SECONDS)
