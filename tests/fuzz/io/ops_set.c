/* Steps that change a file, under those who wait perhaps, or ask about it. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>
#include "io.h"

/* pipesize A N: of a pipe's buffer */
static void op_pipesize(struct fz_call *c)
{
	fz_ret(c, fcntl(fz_fd(c, 1), F_SETPIPE_SZ, (int)fz_num(c, 2)));
}

/* setfl A append|direct|async 0|1 */
static void op_setfl(struct fz_call *c)
{
	int fd = fz_fd(c, 1), flags = fcntl(fd, F_GETFL);
	int bit = fz_has(c, "direct") ? O_DIRECT :
		  fz_has(c, "async")  ? O_ASYNC :
					O_APPEND;

	fz_ret(c,
	       fcntl(fd, F_SETFL, fz_num(c, 3) ? flags | bit : flags & ~bit));
}

/* fionbio A 0|1 */
static void op_fionbio(struct fz_call *c)
{
	int on = (int)fz_num(c, 2);

	fz_ret(c, ioctl(fz_fd(c, 1), FIONBIO, &on));
}

/* flush A in|out|both; flow A off|on; drainout A */
static void op_flush(struct fz_call *c)
{
	fz_ret(c, tcflush(fz_fd(c, 1), fz_has(c, "in")	? TCIFLUSH :
				       fz_has(c, "out") ? TCOFLUSH :
							  TCIOFLUSH));
}

static void op_flow(struct fz_call *c)
{
	fz_ret(c, tcflow(fz_fd(c, 1), fz_has(c, "off") ? TCOOFF : TCOON));
}

static void op_drainout(struct fz_call *c)
{
	fz_ret(c, tcdrain(fz_fd(c, 1)));
}

/* lflag A canon|isig|echo|noflsh 0|1 */
static void op_lflag(struct fz_call *c)
{
	struct termios t;
	int fd = fz_fd(c, 1);
	tcflag_t bit = fz_has(c, "canon") ? ICANON :
		       fz_has(c, "isig")  ? ISIG :
		       fz_has(c, "echo")  ? ECHO :
					    NOFLSH;

	if (tcgetattr(fd, &t)) {
		fz_ret(c, -1);
		return;
	}
	t.c_lflag = fz_num(c, 3) ? t.c_lflag | bit : t.c_lflag & ~bit;
	fz_ret(c, tcsetattr(fd, fz_has(c, "flush") ? TCSAFLUSH : TCSANOW, &t));
}

/* packet A 0|1: a master tells of what the slave does */
static void op_packet(struct fz_call *c)
{
	int on = (int)fz_num(c, 2);

	fz_ret(c, ioctl(fz_fd(c, 1), TIOCPKT, &on));
}

/* hangup A: of a terminal */
static void op_hangup(struct fz_call *c)
{
	fz_ret(c, ioctl(fz_fd(c, 1), TIOCVHANGUP));
}

/* typed A eof|line|intr|erase|stop|start|word: what a master types */
static void op_typed(struct fz_call *c)
{
	const char *s = fz_has(c, "eof")   ? "\004" :
			fz_has(c, "line")  ? "line\n" :
			fz_has(c, "intr")  ? "\003" :
			fz_has(c, "erase") ? "\177" :
			fz_has(c, "stop")  ? "\023" :
			fz_has(c, "start") ? "\021" :
					     "word";

	fz_ret(c, write(fz_fd(c, 1), s, strlen(s)));
}

/* outq A: not yet taken */
static void op_outq(struct fz_call *c)
{
	int n = 0;

	fz_ret(c, ioctl(fz_fd(c, 1), TIOCOUTQ, &n) ? -1 : n);
}

/* nonblock A 0|1 */
static void op_nonblock(struct fz_call *c)
{
	int fd = fz_fd(c, 1), flags = fcntl(fd, F_GETFL);

	flags = fz_num(c, 2) ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	fz_ret(c, fcntl(fd, F_SETFL, flags));
}

static const struct {
	const char *name;
	int level, number;
} options[] = {
	{ "rcvlowat", SOL_SOCKET, SO_RCVLOWAT },
	{ "oobinline", SOL_SOCKET, SO_OOBINLINE },
	{ "sndbuf", SOL_SOCKET, SO_SNDBUF },
	{ "rcvbuf", SOL_SOCKET, SO_RCVBUF },
	{ "peekoff", SOL_SOCKET, SO_PEEK_OFF },
	{ "passcred", SOL_SOCKET, SO_PASSCRED },
	{ "deferaccept", IPPROTO_TCP, TCP_DEFER_ACCEPT },
	{ "cork", IPPROTO_TCP, TCP_CORK },
	{ "recverr", IPPROTO_IP, IP_RECVERR },
	{ "timestamp", SOL_SOCKET, SO_TIMESTAMP },
	{ "passrights", SOL_SOCKET, 83 /* SO_PASSRIGHTS */ },
	{ "pktinfo", IPPROTO_IP, IP_PKTINFO },
	{ "nodelay", IPPROTO_TCP, TCP_NODELAY },
	{ "quickack", IPPROTO_TCP, TCP_QUICKACK },
	{ "notsent", IPPROTO_TCP, TCP_NOTSENT_LOWAT },
	{ "tcpinq", IPPROTO_TCP, TCP_INQ },
	{ "usertimeout", IPPROTO_TCP, TCP_USER_TIMEOUT },
	{ "fastopenconnect", IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
	{ "keepalive", SOL_SOCKET, SO_KEEPALIVE },
	{ "busypoll", SOL_SOCKET, SO_BUSY_POLL },
	{ "zerocopy", SOL_SOCKET, SO_ZEROCOPY },
	{ "inq", SOL_SOCKET, 84 /* SO_INQ */ },
	{ "passpidfd", SOL_SOCKET, 76 /* SO_PASSPIDFD */ },
	{ "passsec", SOL_SOCKET, SO_PASSSEC },
	{ "broadcast", SOL_SOCKET, SO_BROADCAST },
	{ "rxqovfl", SOL_SOCKET, SO_RXQ_OVFL },
	{ "recvttl", IPPROTO_IP, IP_RECVTTL },
	{ "gro", IPPROTO_UDP, 104 /* UDP_GRO */ },
	{ "gso", IPPROTO_UDP, 103 /* UDP_SEGMENT */ },
};

/* opt A NAME N; opt A rcvtimeo|sndtimeo NNNms|-1; opt A reset; opt A linger N */
static void op_opt(struct fz_call *c)
{
	struct linger l = { 1, 0 };
	struct timeval tv = { 0 };
	int fd = fz_fd(c, 1), n = (int)fz_num(c, 3);

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(c->w[2], options[i].name)) {
			fz_ret(c, setsockopt(fd, options[i].level,
					     options[i].number, &n, sizeof(n)));
			return;
		}
	if (fz_has(c, "reset")) {
		fz_ret(c, setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
		return;
	}
	if (fz_has(c, "linger")) {
		l.l_linger = n;
		fz_ret(c, setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
		return;
	}
	tv.tv_sec = n < 0 ? n : n / 1000;
	tv.tv_usec = n < 0 ? 0 : n % 1000 * 1000;
	fz_ret(c, setsockopt(fd, SOL_SOCKET,
			     fz_has(c, "rcvtimeo") ? SO_RCVTIMEO : SO_SNDTIMEO,
			     &tv, sizeof(tv)));
}

/* What can be asked of a file. */
static void op_soerror(struct fz_call *c)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(fz_fd(c, 1), SOL_SOCKET, SO_ERROR, &err, &len))
		fz_ret(c, -1);
	else
		fz_say(c, "%s", err ? strerrorname_np(err) : "0");
}

static void op_unread(struct fz_call *c)
{
	int n = 0, fd = fz_fd(c, 1);
	long r = ioctl(fd, FIONREAD, &n);

	fz_moved(c, fd, r ? -1 : n, 1 << 30);
}

static void op_atmark(struct fz_call *c)
{
	int at = 0;

	fz_ret(c, ioctl(fz_fd(c, 1), SIOCATMARK, &at) ? -1 : at);
}

static void op_flags(struct fz_call *c)
{
	int fl = fcntl(fz_fd(c, 1), F_GETFL);

	fz_say(c, "%s", fl < 0 ? "-1" : fl & O_NONBLOCK ? "nonblock" : "block");
}

static void op_peer(struct fz_call *c)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	fz_ret(c, getpeername(fz_fd(c, 1), (struct sockaddr *)&a, &len));
}

/* owner A: SIGIO and SIGURG of A go to the calling thread's id */
static void op_owner(struct fz_call *c)
{
	int fd = fz_fd(c, 1);
	int r = fcntl(fd, F_SETOWN, fz_has(c, "process") ? getpid() : gettid());

	fz_ret(c, r ? r : fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
}

const struct fz_op fz_set_ops[] = {
	{ "nonblock", op_nonblock }, { "opt", op_opt },
	{ "soerror", op_soerror },   { "unread", op_unread },
	{ "atmark", op_atmark },     { "flags", op_flags },
	{ "peer", op_peer },	     { "owner", op_owner },
	{ "pipesize", op_pipesize }, { "setfl", op_setfl },
	{ "fionbio", op_fionbio },   { "flush", op_flush },
	{ "flow", op_flow },	     { "drainout", op_drainout },
	{ "lflag", op_lflag },	     { "packet", op_packet },
	{ "hangup", op_hangup },     { "typed", op_typed },
	{ "outq", op_outq },	     { 0 },
};
