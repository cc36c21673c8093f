# Test suites of other projects, run hooked.
#
#   make check-suites            all of them; writes docs/TESTED.md's table
#   make check-suites QUICK=1    the part that belongs to make check
#   make check-suites ONLY=nptl.py
#
# A suite is a program here: tests/suites/run.sh says what it must do. It adds
# its name to SUITES, and the Debian packages it needs to TEST_DEPS.

QUICK  ?=
SUITES := nptl.py cpython.py stressng.py mariadb.py programs.py
CHECKS += suites
TEST_DEPS += glibc-source g++ libpython3.11-testsuite stress-ng \
             mariadb-server mariadb-client

.PHONY: check-suites
check-suites: all
	@bash tests/suites/run.sh $(B) $(if $(QUICK),--quick) \
	  $(or $(ONLY),$(SUITES))
	$(if $(QUICK),,@python3 tests/suites/nptl.py --build $(B) \
	  --docs docs/TESTED.md)
