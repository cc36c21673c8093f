# The demonstration and the benchmarks. Their programs are plain POSIX: no
# folder of the project is on their include path.
#
#   make demo    make bench [ROUNDS=5] [BENCH="echo memory"]    make deps
#   make bench-report   at most 12 minutes, and into docs/PERFORMANCE.md

DEMO_DEPS := gcc make libc6-dev libunwind-dev pkg-config \
             util-linux
DEMO_CFLAGS := -std=gnu11 $(OPT) -g -pthread -D_GNU_SOURCE -Wall -Wextra \
               -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WERROR)

DEMO_BIN  := $(patsubst %,$(B)/demo/%,echo chat relay load files slow)
BENCH_BIN := $(patsubst %,$(B)/bench/%,epoll_echo micro scale)
BENCH_LIB := $(patsubst %,$(B)/bench/libfib/%,fib boost pth st uv)
# Each is left out where its library is missing, and so is its part of the report.
BENCH_MAY := $(BENCH_LIB) $(B)/bench/uring_echo $(B)/bench/mhd

# The libraries and servers that are compared.
BENCH_DEPS := g++ gnuplot-nox python3 libboost-fiber-dev libpth-dev libst-dev \
              libuv1-dev liburing-dev libmicrohttpd-dev nginx tinyproxy \
              microsocks stunnel4 mariadb-server apache2-utils redis-server \
              memcached haproxy linux-perf

.PHONY: demo-programs bench-programs
demo-programs: $(DEMO_BIN) $(BENCH_BIN)
bench-programs: $(DEMO_BIN) $(BENCH_BIN) $(B)/tests/counts/birth \
    $(B)/tests/counts/trip $(B)/tests/counts/loop
	@for p in $(BENCH_MAY); do \
	  $(MAKE) --no-print-directory $$p >&2 || echo "bench: without $$p" >&2; \
	done

define demo_program
$(B)/demo/$(1): demo/$(1)/$(1).c
	@mkdir -p $$(@D)
	$$(CC) $$(DEMO_CFLAGS) $$< -o $$@
endef
$(foreach name,echo chat relay load files,$(eval $(call demo_program,$(name))))

$(B)/demo/load: demo/load/hist.h demo/load/watched.h

$(B)/demo/slow: demo/files/slow.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@

$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@

$(B)/bench/epoll_echo $(B)/bench/uring_echo: tests/bench/listen.h

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

$(B)/bench/libfib/uv: tests/bench/libfib/uv.c $(BENCH_HDR)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $< -o $@ -luv -pthread

$(B)/bench/uring_echo: tests/bench/uring_echo.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@ -luring

$(B)/bench/mhd: tests/bench/mhd.c
	@mkdir -p $(@D)
	$(CC) $(DEMO_CFLAGS) $< -o $@ -lmicrohttpd

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

# Without its packages too, where they cannot be had: what is missing is told.
BENCH   ?=
ROUNDS  ?= 5
SECONDS ?= 0.3
.PHONY: bench-report bench-build
bench-build:
	@sh demo/deps.sh $(DEMO_DEPS)
	@sh demo/deps.sh $(BENCH_DEPS) || echo "bench: some packages are missing" >&2
	@$(MAKE) --no-print-directory all bench-programs >&2

bench: bench-build
	@B='$(B)' BENCH_COMMAND='make bench ROUNDS=$(ROUNDS) SECONDS=$(SECONDS)' \
	  python3 tests/bench/bench.py --rounds $(ROUNDS) --seconds $(SECONDS) $(BENCH)

bench-report: bench-build
	@B='$(B)' python3 tests/bench/bench.py --quick --publish $(BENCH)
