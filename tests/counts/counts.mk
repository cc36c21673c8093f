# System calls a round trip, a request and a thread, counted: make check-counts.

TEST_DEPS += strace python3
CHECKS    += counts

.PHONY: check-counts

COUNTED = $(addprefix $(B)/tests/counts/,trip birth loop turn accept \
  connect hop often fair starved)

$(COUNTED): $(B)/tests/counts/%: tests/counts/%.c tests/support/t.h tests/support/ring.h
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) $< -o $@

check-counts: all $(COUNTED) $(B)/demo/chat $(B)/demo/load
	@python3 tests/counts/count.py $(B)
