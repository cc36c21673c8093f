# The demonstration and the benchmarks. Their programs are plain POSIX: no
# folder of the project is on their include path.
#
#   make demo    make bench [BENCH="--same-core echo"]    make deps

DEMO_DEPS := gcc make libc6-dev libunwind-dev pkg-config \
             util-linux
DEMO_CFLAGS := -std=gnu11 $(OPT) -g -pthread -D_GNU_SOURCE -Wall -Wextra \
               -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WERROR)

DEMO_BIN  := $(patsubst %,$(B)/demo/%,echo chat relay load)
BENCH_BIN := $(patsubst %,$(B)/bench/%,epoll_echo micro)
BENCH_LIB := $(patsubst %,$(B)/bench/library/%,fib boost pth st)

# The libraries that libfib is compared with.
BENCH_DEPS := g++ libboost-fiber-dev libpth-dev libst-dev

.PHONY: demo-programs bench-programs
demo-programs: $(DEMO_BIN) $(BENCH_BIN)
bench-programs: $(DEMO_BIN) $(BENCH_BIN) $(BENCH_LIB)

define demo_program
$(B)/demo/$(1): demo/$(1)/$(1).c
	@mkdir -p $$(@D)
	$$(CC) $$(DEMO_CFLAGS) $$< -o $$@
endef
$(foreach name,echo chat relay load,$(eval $(call demo_program,$(name))))

$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@

BENCH_CFLAGS := $(OPT) -g -Wall -Wextra -Wno-unused-parameter $(WERROR)
BENCH_HDR    := tests/bench/library/bench.h

$(B)/bench/library/fib: tests/bench/library/fib.c $(BENCH_HDR) $(B)/libfib.a \
    $(B)/include/fib.h
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -I$(B)/include $< -o $@ $(B)/libfib.a -pthread

$(B)/bench/library/pth: tests/bench/library/pth.c $(BENCH_HDR)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $< -o $@ -lpth

$(B)/bench/library/st: tests/bench/library/st.c $(BENCH_HDR)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $< -o $@ -lst

$(B)/bench/library/boost: tests/bench/library/boost.cc $(BENCH_HDR)
	@mkdir -p $(@D)
	$(CXX) $(BENCH_CFLAGS) $< -o $@ -lboost_fiber -lboost_context -pthread

# TEST_DEPS comes from tests/tests.mk.
deps:
	@sh demo/deps.sh $(sort $(DEMO_DEPS) $(TEST_DEPS))

# What is missing comes first, so the build is a make of its own.
demo:
	@sh demo/deps.sh $(DEMO_DEPS)
	@$(MAKE) --no-print-directory all demo-programs >&2
	@B='$(B)' bash demo/demo.sh

BENCH ?=
bench:
	@sh demo/deps.sh $(DEMO_DEPS) $(BENCH_DEPS)
	@$(MAKE) --no-print-directory all bench-programs >&2
	@B='$(B)' bash tests/bench/run.sh $(BENCH)
