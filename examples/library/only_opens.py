#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""only_opens.py ALLOWED[:ALLOWED...] PROGRAM [ARGUMENTS]: as only_opens.c, by ctypes: fails if the program, or a child of it, opens a
file that is not below one of the ALLOWED directories. Exit status: that of the program; 99: it has opened another file."""
import ctypes as C
import os
import sys

CALL_END, LOSS = 1 << 1, 1 << 9
lib = C.CDLL(os.environ.get("LIBESPY", "libespy.so.0"), use_errno=True)
lib.espy_event_fd_path.restype = C.c_char_p
EventFn = C.CFUNCTYPE(None, C.c_void_p, C.c_void_p)
LogFn = C.CFUNCTYPE(None, C.c_void_p, C.c_int, C.c_int, C.c_char_p)


# Structs of options may be shorter than the library's: what is missing at their end is zero. So these stop at the last field in use.
class Program(C.Structure):
    _fields_ = [("size", C.c_size_t), ("path", C.c_char_p), ("argv", C.POINTER(C.c_char_p)), ("envp", C.c_void_p)]


class SessionOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("log", LogFn), ("log_ctx", C.c_void_p), ("program", C.POINTER(Program)),
                ("pids", C.c_void_p), ("pid_count", C.c_size_t), ("single_task", C.c_bool), ("cgroup", C.c_char_p),
                ("all", C.c_bool), ("without", C.c_void_p), ("without_count", C.c_size_t), ("follow", C.c_bool)]


class EngineOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("events", C.c_uint), ("filter", C.c_void_p), ("call_limit", C.c_uint64),
                ("ends_session", C.c_bool), ("event", EventFn)]


def check(err):
    if err < 0:
        sys.exit("only_opens.py: " + os.strerror(-err))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    allowed = [os.fsencode(d).rstrip(b"/") or b"/" for d in sys.argv[1].split(":") if d]
    bad = []

    def is_allowed(path):
        return any(d == b"/" or path == d or path.startswith(d + b"/") for d in allowed)

    def on_event(ctx, event):
        event = C.c_void_p(event)
        lost, fd = C.c_uint64(), C.c_int64()
        if lib.espy_event_loss(event, C.byref(lost), None) == 0:
            bad.append("%d events were lost: nothing is proved" % lost.value)
        elif lib.espy_event_result(event, C.byref(fd)) == 0 and fd.value >= 0:
            path = lib.espy_event_fd_path(event, C.c_int(fd.value))
            if path and path.startswith(b"/") and not is_allowed(path):
                bad.append("process %d opened %s" % (lib.espy_event_process(event), os.fsdecode(path)))

    def on_log(ctx, level, topic, text):
        if level == 2:
            print("only_opens.py:", os.fsdecode(text), file=sys.stderr)

    path = C.create_string_buffer(4096)
    check(lib.espy_find_program(os.fsencode(sys.argv[2]), path, C.c_size_t(len(path))))
    words = [os.fsencode(w) for w in sys.argv[2:]]
    argv = (C.c_char_p * (len(words) + 1))(*words)
    program = Program(C.sizeof(Program), path.value, argv)
    callback, log = EventFn(on_event), LogFn(on_log)  # kept as long as the session
    options = SessionOptions(size=C.sizeof(SessionOptions), log=log, program=C.pointer(program), follow=True)
    session, chosen, status = C.c_void_p(), C.c_void_p(), C.c_int()

    check(lib.espy_session_open(C.byref(session), C.byref(options)))
    check(lib.espy_filter_new(C.byref(chosen)))
    check(lib.espy_filter_select(chosen, b"open,openat,openat2,creat,open_by_handle_at", None, C.c_size_t(0)))
    engine = EngineOptions(C.sizeof(EngineOptions), CALL_END | LOSS, chosen, 0, False, callback)
    check(lib.espy_engine_add(session, C.byref(engine), None))
    lib.espy_filter_free(chosen)
    check(lib.espy_session_run(session))
    check(lib.espy_session_program_status(session, C.byref(status)))
    lib.espy_session_close(session)
    for line in bad:
        print("only_opens.py:", line, file=sys.stderr)
    sys.exit(99 if bad else os.waitstatus_to_exitcode(status.value) & 255)


main()
