#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What examples/read_trace.py makes of a trace, against what espy itself shows of it: python_reader.py ESPY READER PAGE RECORD.H SOURCE

Both readers say of each call, in the same order, the same number, arguments and result. Damaged files: the reader finds all
whole blocks before a cut, and never prints a call that is not in the file. The example in the manual page is what it says.
"""
import contextlib
import errno
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback

ESPY, READER, PAGE, RECORDS = (os.path.abspath(path) for path in sys.argv[1:5])
SOURCE = sys.argv[5]
PROGRAM = ["sh", "-c", """
    cat /etc/passwd /no/such/file; ls -l /usr/lib | sort | head -n 50; (kill -USR1 $$) & trap : USR1; wait
    for i in 1 2 3 4 5 6 7 8; do mkdir d; cd d; echo $i >f; cd ..; rm -r d; done; sleep 0.1; exit 3"""]
RESTART = {"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514, "ERESTART_RESTARTBLOCK": 516}
FORKS = ("56", "57", "58", "435")  # clone, fork, vfork, clone3
LINE = re.compile(r"(?:\[pid +(\d+)\] )?\[ *(\d+)\] (?:(\w+)\(|<\.\.\. \w+ resumed>(?:, )?)(.*?)(?: <unfinished \.\.\.>|\) += (.*))?$")


def result_of(text):
    """What the kernel returned, by the text; None: the call did not return."""
    words = text.split()
    if words[0] == "?":
        return -RESTART[words[1]] if len(words) > 1 else None
    if words[0] == "-1" and len(words) > 1:
        return -getattr(errno, words[1])
    return int(words[0], 0)


def calls_of_show(trace):
    """[number, arguments, result] of each call, in the order in which they ended."""
    text = subprocess.run([ESPY, "show", "-f", "-n", "-e", "raw=all", "-e", "signal=none", trace], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    calls, open_calls = [], {}
    for line in text.splitlines():
        match = LINE.match(line)
        if not match or "+++" in line:
            continue
        pid, number, name, args, result = match.groups()
        args = [int(arg, 0) for arg in args.split(", ") if arg]
        if not name:
            # While there is one task only, lines do not name it.
            keys = [key for key in open_calls if key[1] == number and (key[0] == pid or None in (key[0], pid))]
            args = open_calls.pop(max(keys, key=lambda key: key[0] == pid)) + args
        if result is None:
            open_calls[pid, number] = args
        else:
            calls.append([int(number), args, result_of(result)])
    return calls


def read(trace):
    return subprocess.run([sys.executable, READER, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def reader_here():
    """The same without a new Python for each file, which takes longer than to read it."""
    spec = importlib.util.spec_from_file_location("read_trace", READER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def read_here(trace):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = module.main([trace])
            except SystemExit as end:
                status = 1
                print(end.code, file=sys.stderr)
            except Exception:
                status = 1
                traceback.print_exc()
        return subprocess.CompletedProcess(trace, status, out.getvalue(), err.getvalue())

    return read_here


def calls_of_reader(trace):
    calls, tasks = [], set()
    done = read(trace)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for line in done.stdout.splitlines():
        match = re.match(r"\d+\.\d{9} (\d+)/\d+ call (\d+)\((.*)\) = (.*)$", line)
        assert match, line
        tid, number, args, result = match.groups()
        # A new task returns from the call that made it; the text shows that of its parent alone.
        if tid not in tasks and number in FORKS and result == "0":
            tasks.add(tid)
            continue
        tasks.add(tid)
        calls.append([int(number), [int(arg, 0) for arg in args.split(", ") if arg], result_of(result)])
    return calls


def same(shown, got):
    """The text shows as many bits of a register as the type of the argument has, and as many arguments as it knows."""
    number, args, result = shown
    return (number == got[0] and len(args) <= len(got[1]) and
            all(a in (b, b & 0xFFFFFFFF) for a, b in zip(args, got[1])) and
            (result == got[2] or None not in (result, got[2]) and result in (got[2] & 0xFFFFFFFF, got[2] & (1 << 64) - 1)))


def compare(trace):
    shown, got = calls_of_show(trace), calls_of_reader(trace)
    for i, (a, b) in enumerate(zip(shown, got)):
        assert same(a, b), "call %d: espy shows %r, the reader says %r" % (i, a, b)
    assert len(shown) == len(got), "%d calls shown, %d calls read" % (len(shown), len(got))
    return len(got)


def check_page():
    """The columns of the manual page are those of its records, and it names all types."""
    spec = importlib.util.spec_from_file_location("read_trace", READER)
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    parts = re.findall(r"```\n(.*?)```", text, re.S)
    records, columns = (bytes.fromhex("".join(re.match(r"(?: {0,2}[0-9a-f]{2}\b)+", line)[0] for line in part.splitlines()))
                        for part in parts)
    assert reader.Block(columns).records(len(records)) == records
    print("ok the example in the manual page")
    with open(RECORDS, encoding="utf-8") as header:
        types = re.findall(r"^\tESPY_REC_(\w+) = (\d+),", header.read(), re.M)
    missing = [name for name, number in types if name not in ("PAD", "COMM") and "*%s %s*" % (number, name) not in text]
    assert len(types) > 20 and not missing, "types of records that are not in the manual page: %s" % missing
    print("ok all types of records are in the manual page")


def main():
    check_page()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for level in "none", "1", "3", "19":
            made = subprocess.run([ESPY, "record", "-q", "--force", "--source=" + SOURCE, "-f", "--compress=" + level, "-o", "trace"] +
                                  PROGRAM, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if made.returncode != 3 and not os.path.exists("trace"):
                print("skipped: %s" % made.stderr)
                return 77
            count = compare("trace")
            assert count > 300, "%d calls only" % count
            print("ok %s, level %s: %d calls are the same" % (SOURCE, level, count))
        subprocess.run([ESPY, "record", "-q", "--force", "--source=" + SOURCE, "-f", "-o", "short", "sh", "-c", "ls / >/dev/null; exit 3"])
        with open("short", "rb") as file:
            data = file.read()
        whole = set(read("short").stdout.splitlines())
        assert len(whole) > 50, whole
        read_here = reader_here()
        assert set(read_here("short").stdout.splitlines()) == whole
        for n in [*range(0, 200, 7), *range(200, len(data), max(1, len(data) // 20))]:
            with open("cut", "wb") as file:
                file.write(data[:n])
            done = read_here("cut")
            assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
            assert set(done.stdout.splitlines()) <= whole
            bad = bytearray(data)
            bad[n] ^= 16
            with open("cut", "wb") as file:
                file.write(bad)
            done = read_here("cut")
            assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
            assert set(done.stdout.splitlines()) <= whole
        print("ok cut and damaged files")
    return 0


sys.exit(main())
