# Installing and packing. Included by the top Makefile, which defines B.
#
#   make install     make uninstall     make deb     make dist
#
# The variables are the GNU coding standards', in capitals.

PREFIX     ?= /usr/local
DESTDIR    ?=
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DOCDIR     ?= $(DATADIR)/doc/libfibhook

INSTALL_ENV = B='$(B)' VERSION='$(VERSION)' DESTDIR='$(DESTDIR)' \
              BINDIR='$(BINDIR)' LIBDIR='$(LIBDIR)' MANDIR='$(MANDIR)' \
              INCLUDEDIR='$(INCLUDEDIR)' DOCDIR='$(DOCDIR)' DATADIR='$(DATADIR)'

.PHONY: install uninstall deb dist FORCE

# One binary for every glibc, built on the oldest Debian that is supported.
DIST := $(B)/libfibhook-$(VERSION)-linux-x86_64.tar.xz
dist:
	@packaging/dist.sh $(DIST)
	@echo $(DIST)

# It names folders, which may be others at each call.
$(B)/libfib.pc: FORCE
	@mkdir -p $(@D)
	$(V)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' \
	  'includedir=$(INCLUDEDIR)' '' 'Name: libfib' \
	  'Description: Fibers, an N:M scheduler and an IOManager for C' \
	  'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
	  'Libs: -L$${libdir} -lfib' 'Libs.private: -pthread' > $@

install: all
	$(V)$(INSTALL_ENV) bash packaging/install.sh install

uninstall:
	$(V)$(INSTALL_ENV) bash packaging/install.sh uninstall

deb:
	$(V)B='$(B)' VERSION='$(VERSION)' bash packaging/deb.sh
