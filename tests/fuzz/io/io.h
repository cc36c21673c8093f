/*
 * Programs of descriptor calls, played step by step: what the director
 * (direct.c, watch.c) and the actors (actor.c, ops_*.c) share. Plain POSIX, no
 * header of the project.
 *
 * The director is a process of its own, never hooked. It starts the actors'
 * process, natively or hooked, and gives each actor one line at a time; the
 * actor is a thread (or a child that another one has forked), makes the call,
 * and writes down what came of it. So an actor whose call blocks is simply one
 * that has not answered.
 */
#ifndef IO_H
#define IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#define FZ_THREADS 5 /* actors 0 (main) to 4: threads */
#define FZ_ACTORS  8 /* 5 to 7: children, once forked */
#define FZ_LINE	   160
#define FZ_RESULT  480
#define FZ_WORDS   24
/* Descriptors of the actors' process that are ours: commands, from here on. */
#define FZ_COMMANDS 40

/* Signals whose handlers are counted. */
#define FZ_SIGNALS(X)                                                          \
	X(USR1)                                                                \
	X(USR2)                                                                \
	X(PIPE) X(IO) X(URG) X(TTIN) X(TTOU) X(ALRM) X(CHLD) X(XFSZ) X(HUP)    \
		X(INT)
#define FZ_ONE(nm) FZ_##nm,
enum { FZ_SIGNALS(FZ_ONE) FZ_NSIGNALS };
#undef FZ_ONE

struct fz_slot {
	_Atomic uint32_t posted; /* step + 1 that it was given; director */
	_Atomic uint32_t done;	 /* step + 1 that it has answered; actor */
	_Atomic int pid;	 /* of its process; 0: there is no such actor */
	_Atomic uint32_t handled[FZ_NSIGNALS];
	char line[FZ_LINE];
	char result[FZ_RESULT];
};

#define FZ_WORDS_SHARED 4

struct fz_shared {
	struct fz_slot slot[FZ_ACTORS];
	char dir[64]; /* for FIFOs */
	uint32_t words[FZ_WORDS_SHARED];
	sem_t sem;
	int ipc[2]; /* System V's queue and semaphores, 1 more; 0: none */
};

/* A step as its actor sees it. */
struct fz_call {
	int self, step, n;
	char *w[FZ_WORDS]; /* the words behind the actor's number */
	char text[FZ_LINE];
	char *out;
	size_t used;
};

struct fz_op {
	const char *name;
	void (*fn)(struct fz_call *c);
};
extern const struct fz_op fz_make_ops[], fz_state_ops[], fz_data_ops[],
	fz_net_ops[], fz_wait_ops[], fz_task_ops[], fz_set_ops[], fz_more_ops[],
	fz_rare_ops[];

/* actor.c */
extern struct fz_shared *fz_shared;
int fz_actors(void);
/** In a new program that actor @self has become; the step was that, or not. */
int fz_again(int self, bool answers, const char *files);
_Noreturn void fz_serve(int self);
/* Words of a step: the file that letter @i names, a number, flags by name. */
int fz_fd(struct fz_call *c, int i);
void fz_set(struct fz_call *c, int i, int fd);
/** The step has made one, for the letter @i, or, where @r is 0, two, for the first ones. */
void fz_one(struct fz_call *c, int i, int fd);
void fz_two(struct fz_call *c, long r, const int fd[2]);
/** The child that the step's first number says, which there is not yet; or -1, and why. */
int fz_new_actor(struct fz_call *c);
/** What the @i-th letter names. */
int fz_file(int i);
long fz_num(struct fz_call *c, int i);
long fz_flags(struct fz_call *c, int from);
bool fz_has(struct fz_call *c, const char *word);
/** The number in a word like 400ms; -1 without one. */
long fz_ms(struct fz_call *c);
void fz_say(struct fz_call *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** A result: the number, or -1 and errno's name. */
void fz_ret(struct fz_call *c, long r);
/** The same of a transfer of @asked bytes; how much fits TCP is its own affair. */
void fz_moved(struct fz_call *c, int fd, long r, size_t asked);
/** Says what data has come: runs of the letters that steps have written. */
void fz_data(struct fz_call *c, int fd, const char *b, long n);
char *fz_buffer(struct fz_call *c, size_t n);
int fz_signal(const char *name);
pthread_t fz_thread(int self);

/* spawn.c: the actors' process. */
extern pid_t fz_child;
extern int fz_command[FZ_ACTORS]; /* one pipe for each */
/** On @cpu alone, if it is not -1. Ends the play if it has not begun in time. */
void fz_spawn(const char *library, int cpu, long limit_ms);
/** It cannot be played: says why, with the text of @err if that is not 0. */
_Noreturn void fz_fail(const char *what, int err);

/* watch.c: are all threads of these processes asleep? */
/**
 * Between two looks at a condition. It is a time, since the actors are other
 * processes, which tell nobody what they do.
 */
void fz_nap(void);
void fz_watch_begin(void);
/** Who waits so that no signal ends it is asleep, too: not for a disk, in this play. */
extern bool fz_watch_disk;
/** For how many ms all have been asleep, none having run in between. */
long fz_watch_quiet(const struct fz_shared *s, pid_t main);
bool fz_watch_stopped(pid_t pid);
int64_t fz_now_ms(void);

#endif
