# Arguments of system calls, fuzzed: make check-fuzz, and soak-fuzz for long.
# Programs of descriptor calls: make check-fuzz-io, and soak-fuzz-io.
#
# The checks make the same cases of FUZZ_SEED each time, so that their verdict is
# one; the soaks those of a new seed, for FUZZ_SECONDS.

FUZZ_CASES   ?= 2000
FUZZ_SCRIPTS ?= 150
FUZZ_SEED    ?= 1
FUZZ_SECONDS ?= 600

$(B)/tests/fuzz/rows.h: hooks/hooks.def tests/fuzz/rows.sh
	@mkdir -p $(@D)
	@sh tests/fuzz/rows.sh < $< > $@

$(B)/tests/fuzz/args: $(addprefix tests/fuzz/,args.c gen.c fixtures.c args.h) \
  $(B)/tests/fuzz/rows.h
	@$(CC) -std=gnu11 $(T_FLAGS) -I$(B)/tests/fuzz $(filter %.c,$^) -o $@

.PHONY: check-fuzz soak-fuzz
check-fuzz: all $(B)/tests/fuzz/args
	@python3 tests/fuzz/args.py --build $(B) --cases $(FUZZ_CASES) \
	  --seed $(FUZZ_SEED)

soak-fuzz: all $(B)/tests/fuzz/args
	@python3 tests/fuzz/args.py --build $(B) --seconds $(FUZZ_SECONDS)

$(B)/tests/fuzz/io/play: $(wildcard tests/fuzz/io/*.c) tests/fuzz/io/io.h
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) $(filter %.c,$^) -o $@ $(T_LIBC)

FUZZ_IO := python3 tests/fuzz/io/fuzz.py --build $(B) \
             --replay $(wildcard tests/fuzz/io/corpus/*.io)

.PHONY: check-fuzz-io soak-fuzz-io
check-fuzz-io: all $(B)/tests/fuzz/io/play
	@$(FUZZ_IO) --scripts $(FUZZ_SCRIPTS) --seed $(FUZZ_SEED)

soak-fuzz-io: all $(B)/tests/fuzz/io/play
	@$(FUZZ_IO) --seconds $(FUZZ_SECONDS) --each 1000
