# Hosts where something is missing: make check-hosts; soak-hosts is all of it.

.PHONY: check-hosts soak-hosts
check-hosts: all build-tests
	@python3 tests/hosts/hosts.py --build $(B) $(ONLY:%=--only %)

soak-hosts: all build-tests
	@python3 tests/hosts/hosts.py --build $(B) --full $(ONLY:%=--only %)
