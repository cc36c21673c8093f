# Unit tests of the runtime as a library: make check-unit.

UNIT_O := $(patsubst %.c,$(B)/plain/%.o,$(wildcard tests/unit/*.c)) \
          $(addprefix $(B)/plain/,$(LIB_OBJ)) $(patsubst %.c,$(B)/plain/%.o,$(SHARED))

$(B)/plain/tests/unit/%.o: BASE += $(shell pkg-config --cflags check 2>/dev/null)

$(B)/tests/unit/run: $(UNIT_O)
	@mkdir -p $(@D)
	$(V)$(CC) $(BASE) -o $@ $(UNIT_O) $$(pkg-config --libs check)

.PHONY: check-unit build-unit
build-unit: $(B)/tests/unit/run

check-unit: build-unit $(CORE_O)
	@tests/unit/run.sh $(B)
