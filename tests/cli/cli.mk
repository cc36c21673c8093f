# Tests of the fibhook command. Builds into $(B)/tests/cli/.

CT := $(B)/tests/cli
CT_PROGS := $(CT)/states $(CT)/threads $(CT)/first_timer $(CT)/set_same $(CT)/sets_gs $(CT)/sets_gs_linked $(CT)/libsetsgs.so $(CT)/sets_stack_linked $(CT)/libsetsstack.so $(CT)/libfibhook.so \
            $(CT)/static $(CT)/static_pie $(CT)/start_state $(CT)/busy $(CT)/offsets \
            $(CT)/stderr_data $(CT)/main_ended $(CT)/whoami $(CT)/stack_of $(CT)/waits $(CT)/holds $(CT)/dedicates $(CT)/fights $(CT)/words $(CT)/kinds \
            $(CT)/library-so $(CT)/library-a $(CT)/library-stripped $(B)/tests/support/filter \
            $(addprefix $(B)/tests/hooks/,io/eventfd io/fifo io/echo \
              thread/create_join cxx/cancel_unwind thread/cancel_many) \
            $(B)/tests/hooks/thread/sealed $(B)/tests/support/libtfutex.so \
            $(B)/tests/hooks/thread/first_in_handler $(B)/tests/hooks/thread/no_tsc \
            $(B)/tests/hooks/signal/before_return

.PHONY: check-cli

$(CT)/%: tests/cli/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) $< -o $@

$(CT)/waits: tests/cli/waits.cc
	@mkdir -p $(@D)
	$(CXX) $(T_FLAGS) $< -o $@

$(CT)/offsets: tests/cli/offsets.c $(wildcard runtime/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) $(PRE_HOST) -Wno-unused-parameter $(INC) $< -o $@

$(CT)/libsetsgs.so: tests/cli/sets_gs_object.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -mfsgsbase -shared -fPIC $< -o $@

$(CT)/sets_gs_linked: tests/cli/threads.c $(CT)/libsetsgs.so
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) $< -L$(CT) -Wl,--no-as-needed -lsetsgs \
	  -Wl,-rpath,'$$ORIGIN' -o $@

$(CT)/libsetsstack.so: tests/cli/sets_stack_object.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -shared -fPIC $< -o $@

$(CT)/sets_stack_linked: tests/cli/threads.c $(CT)/libsetsstack.so
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) $< -L$(CT) -Wl,--no-as-needed -lsetsstack \
	  -Wl,-rpath,'$$ORIGIN' -o $@

$(CT)/static: tests/cli/threads.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -static $< -o $@

$(CT)/static_pie: tests/cli/threads.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -static-pie -fPIE $< -o $@

$(CT)/library-so: tests/cli/library.c $(B)/include/fib.h $(B)/libfib.so
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -Wno-unused-parameter -I$(B)/include -o $@ $< \
	  -L$(B) -lfib -Wl,-rpath,'$$ORIGIN/../..'

$(CT)/library-a: tests/cli/library.c $(B)/include/fib.h $(B)/libfib.a
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -Wno-unused-parameter -I$(B)/include -o $@ $< $(B)/libfib.a

$(CT)/library-stripped: $(CT)/library-a
	strip -o $@ $<

$(CT)/libfibhook.so: tests/cli/other_version.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(T_FLAGS) -shared -fPIC $< -o $@

check-cli: all $(CT_PROGS) $(CT)/fibhook-asan $(B)/demo/echo $(B)/demo/load $(B)/bench/epoll_echo \
           $(B)/bench/micro $(B)/tests/counts/birth $(B)/tests/counts/trip \
           $(B)/tests/counts/loop $(B)/demo/chat $(B)/tests/hooks/thread/spins_beside
	@B='$(B)' bash tests/cli/run.sh

# A process that lies, dumped by the command under the sanitizers: the same
# seeds each time, or as many as fit into HOSTILE_SECONDS.
HOSTILE_SECONDS ?=
HOSTILE_SEEDS   ?= 500
HOSTILE_SEED    ?= 1
$(eval $(call FIB_VARIANT,cli-asan,$(PRE_HOST) -I$(B)/include $(ASAN)))

$(CT)/hostile: tests/cli/hostile.c tests/cli/hostile_object.c \
    tests/cli/hostile.h $(wildcard runtime/*.h hooks/host/*.h)
	@mkdir -p $(@D)
	$(V)$(CC) -std=gnu11 $(T_FLAGS) -Wno-unused-parameter -DFIB_VERSION='"$(VERSION)"' $(PRE_HOST) $(INC) \
	  $(filter %.c,$^) -o $@

$(B)/cli-asan/cli/dump/table.o: $(B)/include/fibhook_calls.h
$(B)/cli-asan/shared/near.o: $(B)/include/fibhook_points.h
$(CT)/fibhook-asan: $(patsubst %.c,$(B)/cli-asan/%.o,$(CLI) $(SHARED))
	@mkdir -p $(@D)
	$(V)$(CC) $(ASAN) -o $@ $^ -ldl

.PHONY: check-hostile
check-hostile: all $(CT)/hostile $(CT)/fibhook-asan
	@python3 tests/cli/hostile.py --build '$(B)' --seed $(HOSTILE_SEED) \
	  $(if $(HOSTILE_SECONDS),--seconds $(HOSTILE_SECONDS),--seeds \
	  $(HOSTILE_SEEDS))
