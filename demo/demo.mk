# The demonstration and the benchmarks. Their programs are plain POSIX: no
# folder of the project is on their include path.
#
#   make demo    make bench [BENCH="--same-core echo"]    make deps

DEMO_DEPS := gcc make libc6-dev libunwind-dev pkg-config \
             util-linux
DEMO_CFLAGS := -std=gnu11 $(OPT) -g -pthread -D_GNU_SOURCE -Wall -Wextra \
               -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WERROR)

DEMO_BIN  := $(patsubst %,$(B)/demo/%,echo chat relay load files slow)
BENCH_BIN := $(patsubst %,$(B)/bench/%,epoll_echo micro)
BENCH_LIB := $(patsubst %,$(B)/bench/libfib/%,fib boost pth st)

# The libraries that libfib is compared with.
BENCH_DEPS := g++ gnuplot-nox python3 libboost-fiber-dev libpth-dev libst-dev

.PHONY: demo-programs bench-programs
demo-programs: $(DEMO_BIN) $(BENCH_BIN)
bench-programs: $(DEMO_BIN) $(BENCH_BIN) $(BENCH_LIB)

define demo_program
$(B)/demo/$(1): demo/$(1)/$(1).c
	@mkdir -p $$(@D)
	$$(CC) $$(DEMO_CFLAGS) $$< -o $$@
endef
$(foreach name,echo chat relay load files,$(eval $(call demo_program,$(name))))

$(B)/demo/slow: demo/files/slow.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@

$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@

BENCH_CFLAGS := $(OPT) -g -Wall -Wextra -Wno-unused-parameter $(WERROR)
BENCH_HDR    := tests/bench/libfib/bench.h

$(B)/bench/libfib/fib: tests/bench/libfib/fib.c $(BENCH_HDR) $(B)/libfib.a \
    $(B)/include/fib.h
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -I$(B)/include $< -o $@ $(B)/libfib.a -pthread

$(B)/bench/libfib/pth: tests/bench/libfib/pth.c $(BENCH_HDR)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $< -o $@ -lpth

$(B)/bench/libfib/st: tests/bench/libfib/st.c $(BENCH_HDR)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $< -o $@ -lst

$(B)/bench/libfib/boost: tests/bench/libfib/boost.cc $(BENCH_HDR)
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
