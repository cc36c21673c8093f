# Models of the protocols between threads, for spin: make check-model.

TEST_DEPS += spin
CHECKS    += model

.PHONY: check-model
check-model:
	@CC='$(CC)' bash tests/model/run.sh $(B)
