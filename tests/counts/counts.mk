# System calls a round trip and a request, counted: make check-counts.

TEST_DEPS += strace python3
CHECKS    += counts

.PHONY: check-counts

$(B)/tests/counts/trip: tests/counts/trip.c tests/support/t.h
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(T_FLAGS) $< -o $@

check-counts: all $(B)/tests/counts/trip $(B)/demo/chat $(B)/demo/load
	@python3 tests/counts/count.py $(B)
