#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the system calls in a trace of espy as numbers: read_trace.py [--all] FILE

A reader of trace files that shares no code with espy: it was written from espy-trace-format(5), which it cites. It needs
Python 3 and libzstd. One line for each call that has ended: time, task, process, number, arguments, result. With --all
also the bytes that were read from the program's memory, and records of other types. Exit status 1: parts were damaged.
"""
import ctypes
import ctypes.util
import signal
import struct
import sys

MAGIC = b"\x89ESPY\r\n\x1a"
SECTION_MARK = 0x5EB10C7A9D02E3F1
FEATURES = {0: "zstd", 1: "columns", 2: "parts"}
RECORDS, END = 3, 5
RECORDS_MAX, SECTION_MAX = 8 << 20, 16 << 20
M64 = (1 << 64) - 1
TYPES = {1: "enter", 2: "exit", 3: "fork", 4: "exec", 5: "task_exit", 6: "signal", 7: "stopped", 8: "lost", 10: "detached",
         11: "fdname", 12: "attached", 13: "fact", 14: "pause", 15: "mark", 16: "mark_def", 17: "clock", 18: "map", 19: "end",
         20: "stack"}
LOST = ["no room in the ring", "too large", "no memory for the entry", "interrupted", "no place for the thread", "torn",
        "too early", "damaged", "overwritten"]


class Damage(Exception):
    """What was read is not as the specification says."""


def crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


CRC_TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Zstd:
    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        self.lib.ZSTD_decompress.restype = ctypes.c_size_t
        self.lib.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

    def decompress(self, data, size):
        """One or more frames, one behind the other, which hold `size` bytes."""
        out = ctypes.create_string_buffer(size + 1)
        if self.lib.ZSTD_decompress(out, size, data, len(data)) != size:
            raise Damage("the zstd frames are not what they should be")
        return out.raw[:size]


class Column:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        if self.at > len(self.data):
            raise Damage("a column is too short")
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value


class Kind:
    """How records of one kind are divided, and the last of them."""

    def __init__(self, data):
        (self.type, self.abi, self.flags, self.nr, self.words, self.items, self.times,
         self.whole) = struct.unpack("<BBHHHBB6xQ", data)
        self.last_words = [0] * self.words
        self.last_items = [[] for _ in range(self.items)]


class Block:
    """COLUMNS: the records of one block."""

    def __init__(self, data):
        sizes = struct.unpack_from("<14I", data)
        at, self.columns = 56, []
        for size in sizes:
            self.columns.append(Column(data[at:at + size]))
            at += size
        if at != len(data):
            raise Damage("the columns are not as large as they should be")
        self.kinds, self.tasks, self.time = [], [], 0

    def numbered(self, column, known, make):
        number = self.columns[column].varint()
        if not number:
            known.append(make(self.columns[2]))
        elif number > len(known):
            raise Damage("a kind or task that there is not")
        return known[number - 1]  # 0: the new one, which is the last

    def take_time(self):
        rest = self.columns[4].varint()
        rest = -(rest + 1) // 2 if rest & 1 else rest // 2
        self.time = (self.time + 256 * rest + self.columns[3].byte()) & M64
        return self.time

    def take_word(self, before):
        code = self.columns[5].byte()
        if code > 17:
            raise Damage("a code that there is not")
        n = code % 9
        value = int.from_bytes(self.columns[5 + n].take(n), "little", signed=True) if n else 0
        return (value + (before if code >= 9 else 0)) & M64

    def take_item(self, before, whole):
        """The head and the words of an item, as a list."""
        before = before or [0]
        item = [self.take_word(before[0])]
        for i in range(((item[0] >> 32) + 7) // 8):
            if whole:
                item.append(int.from_bytes(self.columns[13].take(8), "little"))
            else:
                item.append(self.take_word(before[1 + i] if 1 + i < len(before) else 0))
        return item

    def take_record(self):
        kind = self.numbered(0, self.kinds, lambda new: Kind(new.take(24)))
        tid, tgid = self.numbered(1, self.tasks, lambda new: struct.unpack("<II", new.take(8)))
        words, items = [], []
        for i, before in enumerate(kind.last_words):
            words.append(self.take_time() if i == 1 and kind.times & 2 else self.take_word(before))
        time = self.take_time() if kind.times & 1 else 0
        for i, before in enumerate(kind.last_items):
            items.append(self.take_item(before, kind.whole >> i & 1))
        kind.last_words, kind.last_items = words, items
        body = words + [word for item in items for word in item]
        size = 24 + 8 * len(body)
        return struct.pack("<IHHIIQ%dQ" % len(body), size | kind.abi << 20 | kind.type << 24, kind.flags, kind.nr, tid, tgid,
                           time, *body)

    def records(self, size):
        data = bytearray()
        while len(data) < size:
            data += self.take_record()
        if len(data) != size or any(column.at != len(column.data) for column in self.columns):
            raise Damage("something is left of a block")
        return bytes(data)


class Trace:
    def __init__(self, data):
        self.data, self.zstd, self.damage = data, None, []
        if data[:8] != MAGIC:
            raise Damage("it is not a trace of espy")
        size, major, _, order = struct.unpack_from("<IHHI", data, 8)
        needed, _, self.identity = struct.unpack_from("<QQQ", data, 24)
        if order != 0x01020304 or major != 1:
            raise Damage("it is of another version, %d" % major)
        if size > len(data) or crc32c(data[:size - 4]) != struct.unpack_from("<I", data, size - 4)[0]:
            raise Damage("the checksum of the file head differs")
        for bit in range(64):
            if needed >> bit & 1 and bit not in FEATURES:
                raise Damage("it needs the feature %d" % bit)
        self.first = size

    def sections(self):
        """Kind, id, contents of each section that is whole."""
        at, data = self.first, self.data
        while at < len(data):
            head = data[at:at + 72]
            if (len(head) < 72 or head[:16] != struct.pack("<QQ", SECTION_MARK, self.identity) or
                    crc32c(head[:68]) != struct.unpack_from("<I", head, 68)[0]):
                self.damage.append("no section at %d" % at)
                at = data.find(struct.pack("<QQ", SECTION_MARK, self.identity), at + 1)
                if at < 0:
                    return
                continue
            kind, encoding, compression, number, size, encoded, stored = struct.unpack_from("<HBBIIII", head, 16)
            crc = struct.unpack_from("<I", head, 64)[0]
            payload = data[at + 72:at + 72 + stored]
            try:
                yield kind, number, self.contents(kind, encoding, compression, size, encoded, stored, crc, payload)
                at += 72 + stored
            except Damage as damage:
                self.damage.append("the section at %d: %s" % (at, damage))
                at += 1

    def contents(self, kind, encoding, compression, size, encoded, stored, crc, payload):
        if max(size, encoded, stored) > (RECORDS_MAX if kind == RECORDS else SECTION_MAX):
            raise Damage("it claims to be too large")
        if len(payload) < stored or crc32c(payload) != crc:
            raise Damage("it is cut, or its checksum differs")
        if encoding > 1 or compression > 1 or (encoding and kind != RECORDS):
            raise Damage("it is encoded in a way that is not known")
        if compression:
            self.zstd = self.zstd or Zstd()
            payload = self.zstd.decompress(payload, encoded)
        if len(payload) != encoded or (not encoding and encoded != size):
            raise Damage("it has another size than it should")
        return Block(payload).records(size) if encoding else payload

    def records(self):
        """Each record, but those of state, as bytes."""
        for kind, number, contents in self.sections():
            at = 0
            while kind == RECORDS and number == 0 and at < len(contents):
                size = struct.unpack_from("<I", contents, at)[0] & 0xFFFFF if len(contents) - at >= 24 else 0
                if size < 24 or size % 8 or size > len(contents) - at:
                    self.damage.append("a record has a wrong size")
                    break
                yield contents[at:at + size]
                at += size


def items_of(record, at):
    """RECORDS, ENTER and EXIT: operation, status, index and bytes of each item from `at` on."""
    while len(record) - at >= 8:
        operation, status, index, length = struct.unpack_from("<BBHI", record, at)
        yield operation, status, index, record[at + 8:at + 8 + length]
        at += 8 + (length + 7) // 8 * 8


def show(record, out, everything):
    first, flags, number, tid, tgid, time = struct.unpack_from("<IHHIIQ", record)
    kind, abi = first >> 24, first >> 20 & 15
    when = "%d.%09d %d/%d" % (time // 10**9, time % 10**9, tid, tgid)
    if kind in (1, 2):
        words = struct.unpack_from("<%dQ" % ((len(record) - 24) // 8), record, 24)
        at = 1 + (flags >> 3 & 1) + (flags >> 4 & 1)
        count = flags & 7
        args = ", ".join("0x%x" % word for word in words[at:at + count])
        result = "?" if kind == 1 or flags & 0x20 else "%d" % struct.unpack_from("<q", record, 24)
        if kind == 2 or everything:
            out.write("%s %s %s%d(%s) = %s\n" % (when, "call" if kind == 2 else "enter", "abi%d:" % abi if abi else "", number,
                                                args, result))
        for item in items_of(record, 24 + 8 * (at + count)) if everything else ():
            out.write("\toperation %d, status 0x%x, index %d: %r\n" % item)
    elif kind == 8:
        out.write("%s lost %d: %s\n" % (when, struct.unpack_from("<Q", record, 24)[0],
                                        LOST[number] if number < len(LOST) else number))
    elif everything:
        out.write("%s %s, flags 0x%x, number %d: %s\n" % (when, TYPES.get(kind, "type %d" % kind), flags, number,
                                                         record[24:].hex()))


def main(args):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    everything = args[:1] == ["--all"]
    args = args[everything:]
    if len(args) != 1 or args[0].startswith("-"):
        sys.exit("usage: read_trace.py [--all] FILE")
    try:
        with open(args[0], "rb") as file:
            trace = Trace(file.read())
        for record in trace.records():
            show(record, sys.stdout, everything)
    except (Damage, OSError, struct.error) as error:
        sys.exit("read_trace.py: %s: %s" % (args[0], error))
    for damage in trace.damage:
        print("read_trace.py: %s: %s" % (args[0], damage), file=sys.stderr)
    return 1 if trace.damage else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
