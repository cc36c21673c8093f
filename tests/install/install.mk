# Installing, completing, packing: make check-install.

TEST_DEPS += bash-completion debhelper debootstrap dpkg-dev git lintian systemd zsh

.PHONY: check-install
check-install: all $(B)/tests/cli/threads $(B)/demo/echo
	@B='$(B)' MAKE='$(MAKE)' bash tests/install/run.sh
