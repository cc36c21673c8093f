# Unit tests of the runtime as a library: make check-unit.
#
# FIB_VARIANT builds runtime/ without the preload into $(B)/<name>; stress.mk
# adds variants of its own.

LIB_SRC := $(wildcard runtime/*.c runtime/arch/x86_64/*.c)
LIB_ASM := runtime/arch/x86_64/switch.S
LIB_OBJ := $(LIB_SRC:.c=.o) $(LIB_ASM:.S=.o)

# $(1): name, $(2): flags
define FIB_VARIANT
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(V)$$(CC) $$(BASE) $(2) -MMD -MP -c $$< -o $$@

$(B)/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(V)$$(CC) $$(BASE) -MMD -MP -c $$< -o $$@
endef
$(eval $(call FIB_VARIANT,lib,))

UNIT_O := $(patsubst %.c,$(B)/lib/%.o,$(wildcard tests/unit/*.c)) \
          $(addprefix $(B)/lib/,$(LIB_OBJ))

$(B)/lib/tests/unit/%.o: BASE += $(shell pkg-config --cflags check 2>/dev/null)

$(B)/tests/unit/run: $(UNIT_O)
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) -o $@ $(UNIT_O) $$(pkg-config --libs check)

.PHONY: check-unit build-unit
build-unit: $(B)/tests/unit/run

check-unit: build-unit $(CORE_O)
	@tests/unit/run.sh $(B)
