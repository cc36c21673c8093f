# The library through its public header: make check-library.
#
# The same programs run against libfib.so, and built with AddressSanitizer and
# ThreadSanitizer. LIBRARY_BUILDS restricts the builds.

LIBRARY_BUILDS ?= so asan tsan
LIBRARY_SRC    := $(wildcard tests/library/*.c)
LIBRARY_CFLAGS := -std=gnu11 -O1 -g -pthread -D_GNU_SOURCE -I. -I$(B)/include \
                  -Wall -Wextra -Wno-unused-parameter $(WERROR) \
                  $(shell pkg-config --cflags check 2>/dev/null)
LIBRARY_LIBS   := $(shell pkg-config --libs check 2>/dev/null)
LIBRARY_HDR    := $(B)/include/fib.h tests/library/library.h

# As it is installed: nothing of the project lies beside it.
$(B)/include/fib.h: runtime/fib.h
	@mkdir -p $(@D)
	@cp $< $@

$(B)/tests/library/so: $(LIBRARY_SRC) $(LIBRARY_HDR) $(B)/libfib.so
	@mkdir -p $(@D)
	$(V)$(CC) $(LIBRARY_CFLAGS) -o $@ $(LIBRARY_SRC) -L$(B) -lfib \
	  -Wl,-rpath,'$$ORIGIN/../..' $(LIBRARY_LIBS)

$(B)/tests/library/asan: $(LIBRARY_SRC) $(LIBRARY_HDR) \
    $(addprefix $(B)/asan/,$(LIB_OBJ))
	@mkdir -p $(@D)
	$(V)$(CC) $(LIBRARY_CFLAGS) $(ASAN) -o $@ $(filter %.c %.o,$^) \
	  $(LIBRARY_LIBS)

$(B)/tests/library/tsan: $(LIBRARY_SRC) $(LIBRARY_HDR) \
    $(addprefix $(B)/tsan/,$(LIB_OBJ))
	@mkdir -p $(@D)
	$(V)$(CC) $(LIBRARY_CFLAGS) $(TSAN) -o $@ $(filter %.c %.o,$^) \
	  $(LIBRARY_LIBS)

# A program that uses the library and runs under the preload.
BOTH := $(B)/tests/library/both-so $(B)/tests/library/both-a
BOTH_CFLAGS := $(filter-out -I.,$(LIBRARY_CFLAGS))

$(B)/tests/library/both-so: tests/library/both/both.c $(LIBRARY_HDR) \
    $(B)/libfib.so
	@mkdir -p $(@D)
	$(V)$(CC) $(BOTH_CFLAGS) -o $@ $< -L$(B) -lfib \
	  -Wl,-rpath,'$$ORIGIN/../..'

$(B)/tests/library/both-a: tests/library/both/both.c $(LIBRARY_HDR) \
    $(B)/libfib.a
	@mkdir -p $(@D)
	$(V)$(CC) $(BOTH_CFLAGS) -o $@ $< $(B)/libfib.a

.PHONY: check-library build-library
build-library: $(LIBRARY_BUILDS:%=$(B)/tests/library/%) $(BOTH)

check-library: all build-library
	@B='$(B)' CC='$(CC)' CXX='$(CXX)' MAKE='$(MAKE)' tests/library/run.sh \
	  $(LIBRARY_BUILDS:%=$(B)/tests/library/%) tests/library/examples.sh \
	  tests/library/manual.sh \
	  tests/library/both/run.sh
