# The library through its public header: make check-library.
#
# The same programs run against libfib.so, and built with AddressSanitizer and
# ThreadSanitizer. LIBRARY_BUILDS restricts the builds.

LIBRARY_BUILDS ?= so asan tsan
LIBRARY_SRC    := $(wildcard tests/libfib/*.c)
LIBRARY_CFLAGS := -std=gnu11 -O1 -g -pthread -D_GNU_SOURCE -I. -I$(B)/include \
                  -Wall -Wextra -Wno-unused-parameter $(WERROR) \
                  $(shell pkg-config --cflags check 2>/dev/null)
LIBRARY_LIBS   := $(shell pkg-config --libs check 2>/dev/null)
PUBLIC_HDR     := $(patsubst libfib/%,$(B)/include/%,libfib/fib.h \
                    libfib/fib.hpp \
                    $(wildcard libfib/fib/*.h))
LIBRARY_HDR    := $(PUBLIC_HDR) tests/libfib/library.h

# As it is installed: nothing of the project lies beside it.
$(PUBLIC_HDR): $(B)/include/%: libfib/%
	@mkdir -p $(@D)
	@cp $< $@
$(B)/include/fib.h: $(filter-out $(B)/include/fib.h,$(PUBLIC_HDR))

$(B)/tests/libfib/so: $(LIBRARY_SRC) $(LIBRARY_HDR) $(B)/libfib.so
	@mkdir -p $(@D)
	$(V)$(CC) $(LIBRARY_CFLAGS) -o $@ $(LIBRARY_SRC) -L$(B) -lfib \
	  -Wl,-rpath,'$$ORIGIN/../..' $(LIBRARY_LIBS)

$(B)/tests/libfib/asan: $(LIBRARY_SRC) $(LIBRARY_HDR) \
    $(addprefix $(B)/asan/,$(LIB_OBJ))
	@mkdir -p $(@D)
	$(V)$(CC) $(LIBRARY_CFLAGS) $(ASAN) -o $@ $(filter %.c %.o,$^) \
	  $(LIBRARY_LIBS)

$(B)/tests/libfib/tsan: $(LIBRARY_SRC) $(LIBRARY_HDR) \
    $(addprefix $(B)/tsan/,$(LIB_OBJ))
	@mkdir -p $(@D)
	$(V)$(CC) $(LIBRARY_CFLAGS) $(TSAN) -o $@ $(filter %.c %.o,$^) \
	  $(LIBRARY_LIBS)

# fib.hpp, with exceptions and without.
TEST_DEPS     += cmake
WRAPPER       := $(patsubst %,$(B)/tests/libfib/wrapper-%,so bare asan)
WRAPPER_FLAGS := -std=c++17 -O1 -g -pthread -pedantic -I$(B)/include -Wall -Wextra \
                 $(WERROR)

$(B)/tests/libfib/wrapper-so $(B)/tests/libfib/wrapper-bare: \
    tests/libfib/wrapper.cc $(PUBLIC_HDR) $(B)/libfib.so
	@mkdir -p $(@D)
	$(V)$(CXX) $(WRAPPER_FLAGS) $(if $(findstring bare,$@),-fno-exceptions) -o $@ \
	  $< -L$(B) -lfib -Wl,-rpath,'$$ORIGIN/../..'

$(B)/tests/libfib/wrapper-asan: tests/libfib/wrapper.cc $(PUBLIC_HDR) \
    $(addprefix $(B)/asan/,$(LIB_OBJ))
	@mkdir -p $(@D)
	$(V)$(CXX) $(WRAPPER_FLAGS) $(ASAN) -o $@ $(filter %.cc %.o,$^)

# A program that uses the library and runs under the preload.
BOTH := $(B)/tests/libfib/both-so $(B)/tests/libfib/both-a
BOTH_CFLAGS := $(filter-out -I.,$(LIBRARY_CFLAGS))

$(B)/tests/libfib/both-so: tests/libfib/both/both.c $(LIBRARY_HDR) \
    $(B)/libfib.so
	@mkdir -p $(@D)
	$(V)$(CC) $(BOTH_CFLAGS) -o $@ $< -L$(B) -lfib \
	  -Wl,-rpath,'$$ORIGIN/../..'

$(B)/tests/libfib/both-a: tests/libfib/both/both.c $(LIBRARY_HDR) \
    $(B)/libfib.a
	@mkdir -p $(@D)
	$(V)$(CC) $(BOTH_CFLAGS) -o $@ $< $(B)/libfib.a

.PHONY: check-library build-library
build-library: $(LIBRARY_BUILDS:%=$(B)/tests/libfib/%) $(WRAPPER) $(BOTH) \
  $(patsubst %,$(B)/libfib-%.a,$(filter-out so,$(LIBRARY_BUILDS)))

check-library: all build-library
	@B='$(B)' CC='$(CC)' CXX='$(CXX)' MAKE='$(MAKE)' tests/libfib/run.sh \
	  $(LIBRARY_BUILDS:%=$(B)/tests/libfib/%) $(WRAPPER) tests/libfib/examples.sh \
	  tests/libfib/manual.sh \
	  tests/libfib/both/run.sh
