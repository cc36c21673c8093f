#!/usr/bin/python3
"""CPython's own tests: per test method the same result hooked as natively.

usage: cpython.py --build DIR [--quick] [--only MODULE]... [--workers 1,2,4]
                  [--jobs N] [--eager]

Each module of libpython3.11-testsuite that touches threads, processes,
signals, sockets or files runs natively, then hooked. What counts is the result
of each method (of -v or JUnit XML) and the status of the whole run. The last
line says "N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite  # noqa: E402  pylint: disable=wrong-import-position

PYTHON = "/usr/bin/python3"
# Loopback is enough for the one; a virtual machine's VSOCK may not answer.
ARGUMENTS = {"test_socketserver": ["-u", "network"],
             "test_socket": ["--ignore", "*VSOCK*"]}
LIMIT = 400

QUICK = """test_thread test_threading_local test_threadsignals test_fork1
test_queue test_wait4 test_epoll test_select test_sched""".split()

MODULES = """
test_thread test_threading test_threading_local test_threadedtempfile
test_threadsignals test_signal test_fork1 test_subprocess
test_concurrent_futures test_multiprocessing_fork test_multiprocessing_spawn
test_multiprocessing_forkserver test_multiprocessing_main_handling test_queue
test_wait3 test_wait4 test_socket test_socketserver test_asyncore test_asynchat
test_asyncio test_select test_selectors test_epoll test_poll test_ssl
test_ftplib test_httplib test_httpservers test_os test_posix test_pty
test_openpty test_io test_eintr test_file_eintr test_faulthandler test_sched
test_time test_timeout test_logging test_contextlib test_contextlib_async
test_bz2 test_lzma test_zlib test_gzip test_mmap test_mailbox test_smtplib
test_smtpd test_poplib test_imaplib test_nntplib test_telnetlib test_xmlrpc
test_docxmlrpc test_urllib2_localnet test_wsgiref test_robotparser test_fcntl
test_file test_fileio test_bufio test_largefile test_popen
test_pipes test_shutil test_tempfile test_resource test_gc test_weakref
test_atexit test_finalization test_sys test_sys_settrace test_sys_setprofile
test_interpreters test__xxsubinterpreters test_import test_importlib
test_context test_decimal test_functools test_hashlib test_ctypes
test_cmd_line test_cmd_line_script test_script_helper test_regrtest
test_support test_pdb test_code_module test_repl test_readline test_getpass
test_doctest test_email test_dbm
test_tracemalloc test_zipfile test_tarfile test_pathlib test_glob test_compileall
test_concurrent_futures test_enum test_unittest test_exceptions test_memoryio
test_crashers test_syslog test_uuid test_venv test_webbrowser test_audit
test_embed test_platform test_timeit test_trace test_thread test_super
""".split()


def parse_log(text):
    """What -v said before a run that wrote no XML ended."""
    results, name = {}, None
    for line in text.splitlines():
        m = re.match(r"(\w+) \(([\w.]+)\)", line)
        if m:
            dotted = m[2] if m[2].endswith("." + m[1]) else f"{m[2]}.{m[1]}"
            name = dotted
        m = re.search(r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped|"
                      r"expected failure|unexpected success)\b", line)
        if name and m:
            results[name] = {"FAIL": "failure", "ERROR": "error",
                             "skipped": "skipped"}.get(m[1], "run")
            name = None
    if name:
        results[name] = "unfinished"
    return results


def parse_xml(path):
    results = {}
    for case in xml.parse(path).iter("testcase"):
        kinds = {c.tag for c in case} & {"failure", "error", "skipped"}
        state = "/".join(sorted(kinds)) or case.get("result") or \
            case.get("status", "run")
        name, old = case.get("name"), None
        old = results.get(name)
        results[name] = state if old in (None, state) else f"{old}+{state}"
    return results


def run_module(module, workers, opt):
    """(results by method, suite.Run)"""
    log = os.path.join(opt.logs, f"{module}.{workers or 'native'}")
    with tempfile.TemporaryDirectory(prefix="cpython.") as tmp:
        report = os.path.join(tmp, "report.xml")
        extra = {"TMPDIR": tmp, "HOME": tmp}
        if opt.eager and workers:
            extra["FIBHOOK_START"] = "eager"
        got = suite.run([PYTHON, "-m", "test", "-v", "--junit-xml", report,
                         "--tempdir", tmp] +
                        ARGUMENTS.get(module, []) + [module],
                        opt.build, workers, opt.limit, log, tmp, extra)
        try:
            return parse_xml(report), got
        except (OSError, xml.ParseError):
            return parse_log(got.output), got


def compare(module, workers, native, hooked):
    """(passed, failed, lines)"""
    (want, wrun), (have, hrun) = native, hooked
    passed = failed = 0
    lines = []
    for name in sorted(want.keys() | have.keys()):
        a, b = want.get(name, "not run"), have.get(name, "not run")
        if a == b:
            passed += 1
        else:
            failed += 1
            if b != "not run" or hrun.status is not None:
                lines.append(f"     {name}: {b}, natively {a}")
    if wrun.status != hrun.status:
        failed += 1
        lines.append(f"     ended with {hrun.status}, natively {wrun.status}")
    if suite.UNHOOKED in hrun.output:
        failed += 1
        lines.append("     it ran unhooked")
    if hrun.dump:
        lines += ["     " + x for x in hrun.dump.splitlines()[:150]]
    head = f"{'FAIL' if failed else 'ok  '} {module} workers={workers}: " \
           f"{passed} methods as natively, {failed} not; " \
           f"{hrun.seconds:.0f} s, natively {wrun.seconds:.0f} s"
    return passed, failed, [head] + lines[:200]


def check(module, opt):
    native = run_module(module, None, opt)
    if native[1].status is None or not native[0]:
        return 0, 0, 1, [f"skip {module}: natively it "
                         + ("does not end" if native[1].status is None
                            else f"has no tests here, status "
                            f"{native[1].status}")]
    passed = failed = 0
    lines = []
    for workers in opt.workers:
        p, f, said = compare(module, workers, native,
                             run_module(module, workers, opt))
        passed, failed = passed + p, failed + f
        lines += said
        print("\n".join(said), flush=True)
    return passed, failed, 0, []


def main():
    suite.plain_signals()
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--eager", action="store_true")
    ap.add_argument("--workers")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--limit", type=float, default=LIMIT)
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    opt.workers = (opt.workers or ("2" if opt.quick else "1,2,4")).split(",")
    opt.logs = os.path.join(opt.build, "check", "cpython")
    os.makedirs(opt.logs, exist_ok=True)
    suite.install(["libpython3.11-testsuite"])
    modules = opt.only or (QUICK if opt.quick else list(dict.fromkeys(MODULES)))
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for p, f, s, lines in pool.map(lambda m: check(m, opt), modules):
            passed, failed, skipped = passed + p, failed + f, skipped + s
            if lines:
                print("\n".join(lines), flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
