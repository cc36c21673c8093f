/*
 * What was measured, as JSON and as a page with plots. Both files are written
 * beside their names, and get them when both are whole: where one cannot be
 * written, those of the run before are still there.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/bench/bench.h"
#include "cli/cli.h"
#include "cli/dump/table.h"

#define WIDTH  460 /* of a plot, in px */
#define LEFT   80
#define RIGHT  90
#define ROW    26
#define COLORS "#4477aa", "#cc6633"

static const char *const modes[BENCH_MODES] = { "unhooked", "hooked" };

/* --- JSON ---------------------------------------------------------------------- */

static void json_number(FILE *f, const char *name, double val)
{
	if (isnan(val))
		fprintf(f, "\"%s\":null", name);
	else
		fprintf(f, "\"%s\":%.9g", name, val);
}

static void json_sum(FILE *f, const char *name, struct bench_sum s)
{
	fprintf(f, "\"%s\":{", name);
	json_number(f, "median", s.median);
	fputc(',', f);
	json_number(f, "spread", s.spread);
}

static void json_figure(FILE *f, enum bench_figure fig)
{
	fprintf(f, "{\"name\":\"%s\",\"unit\":\"%s\",", bench_names[fig].key,
		bench_names[fig].unit);
	for (int m = 0; m < BENCH_MODES; m++) {
		json_sum(f, modes[m], bench_sum(fig, m));
		fprintf(f, ",\"rounds\":[");
		for (unsigned i = 0; i < bench.rounds; i++) {
			double val = bench.val[fig][m][i];

			if (isnan(val))
				fprintf(f, "%snull", i ? "," : "");
			else
				fprintf(f, "%s%.9g", i ? "," : "", val);
		}
		fprintf(f, "]},");
	}
	json_sum(f, "ratio", bench_ratio(fig));
	fprintf(f, "}}");
}

static void write_json(FILE *f)
{
	fprintf(f, "{\"version\":\"%s\",\"server\":\"%s\",", FIB_VERSION,
		dump_json(bench.server));
	fprintf(f,
		"\"load\":\"%s\",\"tool\":\"%s\",\"rounds\":%u,\"workers\":%d,",
		bench.load ? dump_json(bench.load) : "own", bench.tool,
		bench.rounds, bench.workers);
	fprintf(f, "\"figures\":[\n");
	for (int i = 0; i < BENCH_FIGURES; i++) {
		if (i)
			fprintf(f, ",\n");
		json_figure(f, i);
	}
	fprintf(f, "\n],\"notes\":[");
	for (unsigned i = 0; i < bench.nnotes; i++)
		fprintf(f, "%s\"%s\"", i ? "," : "", dump_json(bench.notes[i]));
	fprintf(f, "]}\n");
}

/* --- HTML ------------------------------------------------------------------------ */

static void put_text(FILE *f, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			fputc(*s, f);
		}
}

/* A row for each mode: a bar to the median, a point for each round. */
static void plot_mode(FILE *f, enum bench_figure fig, enum bench_mode m,
		      double most)
{
	static const char *const colors[] = { COLORS };
	struct bench_sum s = bench_sum(fig, m);
	double scale = (WIDTH - LEFT - RIGHT) / most;
	int y = 8 + ROW * (int)m;

	fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
		LEFT - 6, y + 12, modes[m]);
	fprintf(f,
		"<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"16\" "
		"fill=\"%s\" fill-opacity=\"0.35\"/>\n",
		LEFT, y, s.median * scale, colors[m]);
	for (unsigned i = 0; i < bench.rounds; i++) {
		double val = bench.val[fig][m][i];

		if (!isnan(val))
			fprintf(f,
				"<circle cx=\"%.1f\" cy=\"%d\" r=\"3\" "
				"fill=\"%s\"/>\n",
				LEFT + val * scale, y + 8, colors[m]);
	}
	fprintf(f, "<text x=\"%.1f\" y=\"%d\">%s</text>\n",
		LEFT + s.most * scale + 8, y + 12,
		bench_number(s.median, bench_names[fig].decimals));
}

static void plot(FILE *f, enum bench_figure fig)
{
	struct bench_sum u = bench_sum(fig, UNHOOKED);
	struct bench_sum h = bench_sum(fig, HOOKED);
	double most = h.most > u.most ? h.most : u.most;

	if (isnan(u.median) || isnan(h.median) || !(most > 0))
		return;
	fprintf(f,
		"<figure><figcaption>%s%s%s</figcaption>\n"
		"<svg width=\"%d\" height=\"%d\" "
		"xmlns=\"http://www.w3.org/2000/svg\">\n",
		bench_names[fig].title,
		*bench_names[fig].unit && *bench_names[fig].unit != '/' ? ", " :
									  "",
		bench_names[fig].unit, WIDTH, 2 * ROW + 12);
	for (int m = 0; m < BENCH_MODES; m++)
		plot_mode(f, fig, m, most);
	fprintf(f, "</svg></figure>\n");
}

static void html_table(FILE *f)
{
	char *text = NULL;
	size_t len;
	FILE *t = open_memstream(&text, &len);

	if (!t)
		cli_fail(CLI_ERROR, "out of memory");
	bench_table(t);
	fclose(t);
	fprintf(f, "<pre>");
	put_text(f, text);
	fprintf(f, "</pre>\n");
	free(text);
}

static void write_html(FILE *f)
{
	fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
		   "charset=\"utf-8\"><title>fibhook bench</title>\n<style>"
		   "body{font:15px sans-serif;margin:2em}pre{font-size:13px;"
		   "white-space:pre-wrap}figure{display:inline-block;margin:"
		   "0 1em 1em 0}svg text{font-size:12px}</style></head>"
		   "<body>\n<h1>");
	put_text(f, bench.server);
	fprintf(f, "</h1>\n");
	html_table(f);
	for (int i = 0; i < BENCH_FIGURES; i++)
		plot(f, i);
	fprintf(f, "</body></html>\n");
}

/* --- files ------------------------------------------------------------------------- */

static const struct report {
	const char *name;
	void (*write)(FILE *f);
} reports[] = {
	{ "bench.json", write_json },
	{ "bench.html", write_html },
};
#define REPORTS (sizeof(reports) / sizeof(*reports))

static void name_of(char *path, const char *dir, const char *name, bool final)
{
	snprintf(path, 2 * PATH_MAX, "%s/%s%s", dir, name, final ? "" : ".new");
}

static void give_up(const char *dir, size_t n, const char *name, int err)
{
	char path[2 * PATH_MAX];

	for (size_t i = 0; i <= n && i < REPORTS; i++) {
		name_of(path, dir, reports[i].name, false);
		unlink(path);
	}
	cli_fail(CLI_ERROR, "%s/%s: %s", dir, name, strerror(err));
}

static int write_one(const char *path, const struct report *r)
{
	FILE *f = fopen(path, "we");
	int err = 0;

	if (!f)
		return errno;
	errno = 0;
	r->write(f);
	if (fflush(f) || ferror(f) || fsync(fileno(f)))
		err = errno ? errno : EIO;
	if (fclose(f) && !err)
		err = errno;
	return err;
}

void bench_report_prepare(const char *dir)
{
	struct stat st;

	if (strlen(dir) >= PATH_MAX)
		cli_fail(CLI_ERROR, "%.64s...: %s", dir,
			 strerror(ENAMETOOLONG));
	if (mkdir(dir, 0777) && errno != EEXIST)
		cli_fail(CLI_ERROR, "%s: %s", dir, strerror(errno));
	if (stat(dir, &st))
		cli_fail(CLI_ERROR, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		cli_fail(CLI_ERROR, "%s: %s", dir, strerror(ENOTDIR));
	if (access(dir, W_OK | X_OK))
		cli_fail(CLI_ERROR, "%s: %s", dir, strerror(errno));
}

void bench_report(const char *dir)
{
	char from[2 * PATH_MAX], to[2 * PATH_MAX];

	for (size_t i = 0; i < REPORTS; i++) {
		int err;

		name_of(from, dir, reports[i].name, false);
		err = write_one(from, &reports[i]);
		if (err)
			give_up(dir, i, reports[i].name, err);
	}
	for (size_t i = 0; i < REPORTS; i++) {
		name_of(from, dir, reports[i].name, false);
		name_of(to, dir, reports[i].name, true);
		if (rename(from, to))
			give_up(dir, REPORTS, reports[i].name, errno);
	}
}
