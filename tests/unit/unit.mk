# Unit tests of the engine as its two hosts have it: make check-unit.

UNIT_BOTH := $(addprefix tests/unit/,common.c futex.c iom.c sched.c timer.c)
# near.c needs a header that is made, and is the command's affair.
UNIT_SRC  := $(wildcard tests/unit/*.c) $(filter-out shared/near.c,$(SHARED)) \
             $(LIB_SRC) $(LIB_ASM)
UNIT_BARE := $(UNIT_BOTH) $(wildcard tests/unit/bare/*.c) tests/support/bare.c \
             $(RUNTIME) $(RUNASM)
UNIT_O     = $(addprefix $(B)/$(1)/,$(addsuffix .o,$(basename $(2))))

$(B)/plain/tests/unit/%.o $(B)/bare/tests/unit/%.o: \
  BASE += $(shell pkg-config --cflags check 2>/dev/null)

UNIT_PROGS := $(B)/tests/unit/run $(B)/tests/unit/bare
$(B)/tests/unit/run: $(call UNIT_O,plain,$(UNIT_SRC))
$(B)/tests/unit/bare: $(call UNIT_O,bare,$(UNIT_BARE))

$(UNIT_PROGS):
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) -o $@ $^ $$(pkg-config --libs check)

.PHONY: check-unit build-unit
build-unit: $(UNIT_PROGS)

# The lint looks at what was built.
check-unit: all build-unit $(CORE_O)
	@tests/unit/run.sh $(B)
