/*
 * fib.hpp: fib.h for C++17. A header alone; nothing of it is in libfib.so.
 *
 *	fibers::scheduler		a scheduler, stopped and given back by its destructor
 *	fibers::executor		an executor of any kind
 *	fibers::task<T>		a function's result: go(executor, function)
 *	fibers::group		tasks that do not outlive it
 *	fibers::channel<T>		for any T that can be moved
 *	fibers::mutex, fibers::condition, fibers::semaphore
 *	fibers::shield		for clean-up in a fiber that is cancelled
 *
 * Objects own what they stand for, can be moved, and not copied; one that was moved
 * from is empty, and may be destroyed or assigned to. Functions are any that can
 * be called, lambdas that have moved something in included.
 *
 * Errors: what makes an object throws std::system_error. All else returns what the
 * function of fib.h does, 0 or a negative errno value. An exception that leaves a
 * task's function goes to whoever calls get(). It may pass frames that have waited;
 * but no fiber may wait in a catch block, or in a destructor that an exception runs:
 * fib.h has the reasons. Scheduler, group and executor wait in their destructors, so
 * let them live where nothing is thrown past them, or call stop() and its like.
 *
 * Without exceptions (-fno-exceptions) an object that could not be made is empty, and
 * tells why: error().
 */
#ifndef FIB_HPP
#define FIB_HPP

#if __cplusplus < 201703L
#error "fib.hpp needs C++17"
#endif

#include <fib.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <forward_list>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#if defined(__cpp_exceptions)
#define FIB_HPP_TRY   try
#define FIB_HPP_CATCH catch (...)
#else
#define FIB_HPP_TRY   if constexpr (true)
#define FIB_HPP_CATCH else
#endif

namespace fibers
{

constexpr std::uint64_t never = FIB_NEVER;

namespace detail
{

inline int check(int error, const char *what)
{
#if defined(__cpp_exceptions)
	if (error)
		throw std::system_error(-error, std::generic_category(), what);
#else
	(void)what;
#endif
	return error;
}

/* What owns one object of fib.h, and gives it back with Destroy. */
template <typename T, auto Destroy> class handle
{
      public:
	handle() = default;
	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;
	handle(handle &&other) noexcept
	    : p_(std::exchange(other.p_, nullptr)), error_(other.error_)
	{
	}
	handle &operator=(handle &&other) noexcept
	{
		if (this != &other) {
			reset();
			p_ = std::exchange(other.p_, nullptr);
			error_ = other.error_;
		}
		return *this;
	}
	~handle()
	{
		reset();
	}

	/** What fib.h knows it by; NULL: it is empty. */
	T *get() const
	{
		return p_;
	}
	explicit operator bool() const
	{
		return p_ != nullptr;
	}
	/** Why it is empty: 0 or a negative errno value. */
	int error() const
	{
		return error_;
	}
	void reset()
	{
		if (p_)
			Destroy(std::exchange(p_, nullptr));
	}

      protected:
	template <typename F> void make(const char *what, F &&f)
	{
		error_ = f(&p_);
		check(error_, what);
	}

      private:
	T *p_ = nullptr;
	int error_ = 0;
};

inline void end_scheduler(fib_sched *s)
{
	fib_sched_stop(s);
	fib_sched_destroy(s);
}

/* A function that may be called once, as what fib.h takes. */
template <typename F> void run(void *p)
{
	std::unique_ptr<F> f(static_cast<F *>(p));

	(*f)();
}

} // namespace detail

/* --- fibers ------------------------------------------------------------------ */

/** While it lives the fiber waits to the end, cancelled or not. */
class shield
{
      public:
	shield()
	{
		fib_shield_enter();
	}
	~shield()
	{
		fib_shield_leave();
	}
	shield(const shield &) = delete;
	shield &operator=(const shield &) = delete;
};

/** A scheduler; its destructor waits for all work, and must not run in a fiber of it. */
class scheduler : public detail::handle<fib_sched, detail::end_scheduler>
{
      public:
	scheduler() = default;
	/** Made and started. */
	explicit scheduler(unsigned threads, bool use_caller = false,
			   const char *name = nullptr)
	{
		make("fib_sched_create", [&](fib_sched **s) {
			int r = fib_sched_create(s, threads, use_caller, name);

			if (r == 0 && (r = fib_sched_start(*s))) {
				fib_sched_destroy(*s);
				*s = nullptr;
			}
			return r;
		});
	}
	/** Run @f() in a fiber: 0 or -errno. What it throws ends the program. */
	template <typename F> int submit(F &&f, int thread = FIB_ANY_THREAD)
	{
		using function = std::decay_t<F>;
		std::unique_ptr<function> p(
			new (std::nothrow) function(std::forward<F>(f)));
		int r = p ? fib_sched_submit(get(), detail::run<function>,
					     p.get(), thread) :
			    -ENOMEM;

		if (r == 0)
			p.release();
		return r;
	}
	int stop()
	{
		return fib_sched_stop(get());
	}
};

/** An executor; its destructor waits for what it has accepted. */
class executor : public detail::handle<fib_executor, fib_executor_destroy>
{
      public:
	executor() = default;
	static executor new_thread()
	{
		return executor(fib_executor_new_thread);
	}
	static executor async(unsigned max)
	{
		return executor([max](fib_executor **ex) {
			return fib_executor_async(ex, max);
		});
	}
	static executor looper(const char *name = nullptr)
	{
		return executor([name](fib_executor **ex) {
			return fib_executor_looper(ex, name);
		});
	}
	/** Fibers of @s, which outlives it. */
	explicit executor(scheduler &s)
	    : executor([&s](fib_executor **ex) {
		      return fib_executor_sched(ex, s.get());
	      })
	{
	}

      private:
	template <typename F, typename = std::enable_if_t<std::is_invocable_r_v<
				      int, F, fib_executor **>>>
	explicit executor(F &&f)
	{
		make("fib_executor", std::forward<F>(f));
	}
};

/* --- tasks --------------------------------------------------------------------- */

namespace detail
{

/* What a task leaves, for whoever has its handle. */
template <typename T> struct outcome {
	std::optional<std::conditional_t<std::is_void_v<T>, char, T>> value;
	std::exception_ptr exception;
};

template <typename T, typename F> long work(F &f, outcome<T> &out)
{
	FIB_HPP_TRY
	{
		if constexpr (std::is_void_v<T>) {
			f();
			out.value.emplace();
		} else {
			out.value.emplace(f());
		}
		return 0;
	}
	FIB_HPP_CATCH
	{
		out.exception = std::current_exception();
	}
	return -EFAULT;
}

} // namespace detail

/**
 * The result of a function that runs elsewhere: go(). A task that is destroyed goes
 * on, and nobody gets its result.
 */
template <typename T> class task : public detail::handle<fib_task, fib_task_put>
{
      public:
	task() = default;

	/** Has it ended within that time? 0, -ETIMEDOUT, -ECANCELED (the caller is). */
	int wait(std::uint64_t timeout_ns = never)
	{
		return fib_task_await_for(get_task(), timeout_ns, &result_);
	}
	/**
	 * Wait, and take the result, once; throws what the function has thrown, and
	 * std::system_error where it was dropped, or the caller is cancelled.
	 */
	T get()
	{
		int r = wait();

		if (r == 0 && out_->exception)
			rethrow();
		if (r == 0 && !out_->value)
			r = (int)result_;
		detail::check(r, "fibers::task");
		if constexpr (!std::is_void_v<T>)
			return std::move(*out_->value);
	}
	/** 0 or -errno: without exceptions, to be asked before get(). */
	int status()
	{
		int r = wait();

		return r ? r : out_->value ? 0 : (int)result_;
	}
	int cancel()
	{
		return fib_task_cancel(get_task());
	}

	template <typename F> void start(executor &ex, F &&f)
	{
		using function = std::decay_t<F>;
		struct job {
			function f;
			std::shared_ptr<detail::outcome<T>> out;
		};
		auto out = std::make_shared<detail::outcome<T>>();
		auto p = std::make_unique<job>(job{ std::forward<F>(f), out });

		this->reset();
		out_ = out;
		this->make("fib_task_start", [&](fib_task **t) {
			return fib_task_start(
				t, ex.get(),
				[](void *q) -> long {
					auto *j = static_cast<job *>(q);

					return detail::work<T>(j->f, *j->out);
				},
				p.get());
		});
		if (this->error())
			return;
		/* Its function's end, or its being dropped: then the job goes. */
		if (fib_task_finally(
			    get_task(),
			    [](long, void *q) { delete static_cast<job *>(q); },
			    p.get()) == 0)
			p.release();
		else
			await_end();
	}

      private:
	using base = detail::handle<fib_task, fib_task_put>;

	fib_task *get_task() const
	{
		return base::get();
	}
	void await_end()
	{
		shield s;

		fib_task_await(get_task());
	}
	[[noreturn]] void rethrow()
	{
#if defined(__cpp_exceptions)
		std::rethrow_exception(out_->exception);
#else
		std::terminate();
#endif
	}

	std::shared_ptr<detail::outcome<T>> out_;
	long result_ = 0;
};

/** Run @f() as a task on @ex. */
template <typename F> auto go(executor &ex, F &&f)
{
	task<std::invoke_result_t<std::decay_t<F> &>> t;

	t.start(ex, std::forward<F>(f));
	return t;
}

/** Tasks that are cancelled and awaited by its destructor. */
class group : public detail::handle<fib_group, fib_group_destroy>
{
      public:
	group() = default;
	explicit group(executor &ex) : members_(new members)
	{
		make("fib_group_create", [&](fib_group **g) {
			return fib_group_create(g, ex.get());
		});
	}
	group(group &&) noexcept = default;
	/* The handle's own comes first: nobody runs any more then. */
	group &operator=(group &&) noexcept = default;
	~group()
	{
		reset();
	}
	/**
	 * A member: @f() returns a long, which is its result, or nothing. What it throws
	 * ends the program. 0 or -errno. What @f holds lives as long as the group.
	 */
	template <typename F> int start(F &&f)
	{
		using function = std::decay_t<F>;
		auto m = std::make_unique<member<function>>(std::forward<F>(f));
		int r = fib_group_start(get(), run<function>, &m->f);

		if (r == 0)
			members_->add(std::move(m));
		return r;
	}
	/** 0, or the first error of a member, or why the wait has ended. */
	int all(std::uint64_t timeout_ns = never)
	{
		long error = 0;
		int r = fib_group_all(get(), &error, timeout_ns);

		return r ? r : (int)error;
	}
	/** One that has ended: 0, or as fib_group_any() says. */
	int any(long *result = nullptr, std::uint64_t timeout_ns = never)
	{
		return fib_group_any(get(), result, nullptr, timeout_ns);
	}
	int cancel()
	{
		return fib_group_cancel(get());
	}

      private:
	struct member_base {
		virtual ~member_base() = default;
	};
	template <typename F> struct member : member_base {
		template <typename G>
		explicit member(G &&g) : f(std::forward<G>(g))
		{
		}
		F f;
	};
	/* Members may start others. */
	struct members {
		void add(std::unique_ptr<member_base> m)
		{
			fib_mutex_lock(&mutex);
			all.push_front(std::move(m));
			fib_mutex_unlock(&mutex);
		}
		fib_mutex mutex = FIB_MUTEX_INIT;
		std::forward_list<std::unique_ptr<member_base>> all;
	};

	template <typename F> static long run(void *p)
	{
		F &f = *static_cast<F *>(p);

		if constexpr (std::is_void_v<std::invoke_result_t<F &>>) {
			f();
			return 0;
		} else {
			return f();
		}
	}

	std::unique_ptr<members> members_;
};

/* --- locks ---------------------------------------------------------------------- */

/** For std::lock_guard and std::unique_lock. */
class mutex
{
      public:
	void lock()
	{
		detail::check(fib_mutex_lock(&m_), "fibers::mutex");
	}
	bool try_lock()
	{
		return fib_mutex_trylock(&m_) == 0;
	}
	void unlock()
	{
		fib_mutex_unlock(&m_);
	}
	fib_mutex *get()
	{
		return &m_;
	}
	mutex() = default;
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;

      private:
	fib_mutex m_ = FIB_MUTEX_INIT;
};

class condition
{
      public:
	/** As fib_cond_wait(): 0 may come without a signal. */
	int wait(mutex &m, std::uint64_t timeout_ns = never)
	{
		return fib_cond_wait(&c_, m.get(), timeout_ns);
	}
	void signal()
	{
		fib_cond_signal(&c_);
	}
	void broadcast()
	{
		fib_cond_broadcast(&c_);
	}
	condition() = default;
	condition(const condition &) = delete;
	condition &operator=(const condition &) = delete;

      private:
	fib_cond c_ = FIB_COND_INIT;
};

class semaphore
{
      public:
	explicit semaphore(std::uint32_t value = 0)
	{
		fib_sem_init(&s_, value);
	}
	int wait(std::uint64_t timeout_ns = never)
	{
		return fib_sem_wait(&s_, timeout_ns);
	}
	int post()
	{
		return fib_sem_post(&s_);
	}
	semaphore(const semaphore &) = delete;
	semaphore &operator=(const semaphore &) = delete;

      private:
	fib_sem s_;
};

/* --- channels --------------------------------------------------------------------- */

/**
 * Values that can be moved. What cannot be copied as bytes goes in a box of its own.
 * Nobody may wait in it when it is destroyed; values that nobody took are, too.
 */
template <typename T>
class channel : public detail::handle<fib_channel, fib_channel_destroy>
{
	static constexpr bool bytes = std::is_trivially_copyable_v<T> &&
				      std::is_default_constructible_v<T>;
	using slot = std::conditional_t<bytes, T, T *>;

      public:
	channel() = default;
	explicit channel(std::size_t capacity)
	{
		make("fib_channel_create", [capacity](fib_channel **c) {
			return fib_channel_create(c, sizeof(slot), capacity);
		});
	}
	channel(channel &&) noexcept = default;
	channel &operator=(channel &&other) noexcept
	{
		drain();
		handle::operator=(std::move(other));
		return *this;
	}
	~channel()
	{
		drain();
	}
	/** 0; else @value was not sent, and is as it was. */
	int send(T &&value, std::uint64_t timeout_ns = never)
	{
		if constexpr (bytes) {
			return fib_channel_send(get(), &value, timeout_ns);
		} else {
			std::unique_ptr<T> box(new (std::nothrow)
						       T(std::move(value)));
			T *p = box.get();
			int r = p ? fib_channel_send(get(), &p, timeout_ns) :
				    -ENOMEM;

			if (r == 0)
				box.release();
			else if (p)
				value = std::move(*p);
			return r;
		}
	}
	int send(const T &value, std::uint64_t timeout_ns = never)
	{
		T copy(value);

		return send(std::move(copy), timeout_ns);
	}
	/** A value, or none, and why: *@error. */
	std::optional<T> receive(std::uint64_t timeout_ns = never,
				 int *error = nullptr)
	{
		slot s{};
		int r = fib_channel_recv(get(), &s, timeout_ns);

		if (error)
			*error = r;
		if (r)
			return std::nullopt;
		if constexpr (bytes) {
			return s;
		} else {
			std::unique_ptr<T> box(s);

			return std::optional<T>(std::move(*box));
		}
	}
	int close()
	{
		return fib_channel_close(get());
	}

      private:
	using handle = detail::handle<fib_channel, fib_channel_destroy>;

	void drain()
	{
		if constexpr (!bytes) {
			shield s;

			while (get() && receive(0))
				;
		}
	}
};

} // namespace fibers

#endif
