# Tests of the fibhook command. Builds into $(B)/tests/cli/.

CT := $(B)/tests/cli
CT_PROGS := $(CT)/states $(CT)/threads $(CT)/set_same $(CT)/libfibhook.so \
            $(CT)/static $(CT)/static_pie $(CT)/start_state \
            $(CT)/stderr_data $(CT)/whoami $(B)/tests/lib/filter

.PHONY: check-cli

$(CT)/%: tests/cli/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) $< -o $@

$(CT)/static: tests/cli/threads.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -static $< -o $@

$(CT)/static_pie: tests/cli/threads.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -static-pie -fPIE $< -o $@

$(CT)/libfibhook.so: tests/cli/other_version.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -shared -fPIC $< -o $@

check-cli: all $(CT_PROGS) $(B)/demo/echo $(B)/demo/load
	@B='$(B)' bash tests/cli/run.sh
