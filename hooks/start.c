/* The start of the hooks, and what a family has those above it do. */
#include "hooks/core/hook.h"
#include "hooks/dispatch.h"
#include "hooks/fd/fd.h"
#include "hooks/process/process.h"
#include "hooks/report/report.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"

static void look_for_work(struct fib *f)
{
	if (fib_unlikely(fib_taskwork_pending(f)))
		fib_taskwork_run(f);
}

static const struct fib_signal_host signal_host = {
	.attention = look_for_work,
	.kicked = fib_identity_follow,
	.asks = fib_fd_asks,
	.process_end = fib_stats_end,
};

void fib_hooks_start(struct fib *main_fiber, uint64_t mask)
{
	fib_identity_init();
	fib_taskwork_init();
	fib_signal_init(main_fiber, mask, &signal_host);
}
