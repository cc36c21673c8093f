# The library on other releases of Debian: make check-distros.
#
# DISTROS=sid restricts it; QUICK=1 is the part of `make check`.

DISTROS ?=

.PHONY: check-distros
check-distros: all $(if $(QUICK),build-tests)
	@B='$(B)' QUICK='$(QUICK)' tests/distros/run.sh $(DISTROS)
