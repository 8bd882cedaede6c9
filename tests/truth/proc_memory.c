/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mappings, advice, locks, memory policy, randomness. */
#include "truth.h"

static void mappings(void)
{
	long a = call(SYS_mmap, NULL, 16384L, 3L, 0x22L, JUNK(-1), 0L);

	text("mmap(NULL, 16384, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = %s", ptr((void *)a));
	line(call(SYS_mmap, 0x1000L, 0L, 0x103000fL, 0x8L | 0x20 | 32l << 26, JUNK(3), -4096L),
	     "mmap(0x1000, 0, PROT_READ|PROT_WRITE|PROT_EXEC|PROT_SEM|PROT_GROWSDOWN|0x30000, MAP_DROPPABLE|MAP_ANONYMOUS|32<<MAP_HUGE_SHIFT, 3, 0xfffffffffffff000)");
	line(call(SYS_mmap, NULL, 0L, 0L, 0L, JUNK(-1), 0L), "mmap(NULL, 0, PROT_NONE, MAP_FILE, -1, 0)");
	line(call(SYS_mmap, NULL, 0L, 1L, 0xfL | 0x20, -1L, 0x1000L), "mmap(NULL, 0, PROT_READ, 0xf /* MAP_??? */|MAP_ANONYMOUS, -1, 0x1000)");
	line(call(SYS_mprotect, a, 4096L, 1L), "mprotect(%s, 4096, PROT_READ)", ptr((void *)a));
	line(call(SYS_mprotect, 1L, -1L, 0x10L), "mprotect(0x1, 18446744073709551615, 0x10 /* PROT_??? */)");
	line(call(SYS_madvise, a, 4096L, JUNK(4)), "madvise(%s, 4096, MADV_DONTNEED)", ptr((void *)a));
	line(call(SYS_madvise, a, 4096L, JUNK(99)), "madvise(%s, 4096, 0x63 /* MADV_??? */)", ptr((void *)a));
	line(call(SYS_msync, a, 4096L, JUNK(4)), "msync(%s, 4096, MS_SYNC)", ptr((void *)a));
	line(call(SYS_msync, 1L, 0L, JUNK(8)), "msync(0x1, 0, 0x8 /* MS_??? */)");
	line(call(SYS_mincore, a + 4096, 8192L, tail_alloc(2)), "mincore(%s, 8192, [0, 0])", ptr((void *)(a + 4096)));
	line(call(SYS_mincore, 1L, 5L, 1L), "mincore(0x1, 5, 0x1)");
	line(call(SYS_mremap, a, 4096L, 4096L, 3L, 5L), "mremap(%s, 4096, 4096, MREMAP_MAYMOVE|MREMAP_FIXED, 0x5)", ptr((void *)a));
	line(call(SYS_mremap, 1L, 2L, 3L, 4L, 5L), "mremap(0x1, 2, 3, MREMAP_DONTUNMAP)");
	line(call(SYS_munmap, a, 16384L), "munmap(%s, 16384)", ptr((void *)a));
	line(call(SYS_munmap, 1L, -1L), "munmap(0x1, 18446744073709551615)");
	line(call(SYS_mlock2, 1L, 1L, JUNK(0xff)), "mlock2(0x1, 1, MLOCK_ONFAULT|0xfe)");
	line(call(SYS_mlockall, JUNK(8)), "mlockall(0x8 /* MCL_??? */)");
	line(call(SYS_munlockall), "munlockall()");
	text("brk(NULL) = %s", ptr((void *)call(SYS_brk, NULL)));
	line(call(SYS_pkey_alloc, 1L, 5L), "pkey_alloc(0x1, PKEY_DISABLE_ACCESS|PKEY_DISABLE_EXECUTE)");
	line(call(SYS_pkey_mprotect, 1L, 4096L, 3L, JUNK(-1)), "pkey_mprotect(0x1, 4096, PROT_READ|PROT_WRITE, -1)");
	line(call(SYS_membarrier, JUNK(99), JUNK(1), JUNK(-5)), "membarrier(0x63 /* MEMBARRIER_CMD_??? */, MEMBARRIER_CMD_FLAG_CPU, -5)");
	line(call(SYS_membarrier, 0L, JUNK(8)), "membarrier(MEMBARRIER_CMD_QUERY, 0x8 /* MEMBARRIER_CMD_FLAG_??? */)");
	line(call(462L, 1L, 4096L, 1L), "mseal(0x1, 4096, 0x1)");
	line(call(453L, 1L, 4096L, JUNK(4)), "map_shadow_stack(0x1, 4096, 0x4 /* SHADOW_STACK_??? */)");
}

static void policy(void)
{
	uint64_t five = 5;
	void *mask = tail_copy(&five, 8);

	line(call(SYS_mbind, 1L, 4096L, 0x8001L, mask, 64L, JUNK(3)),
	     "mbind(0x1, 4096, MPOL_PREFERRED|MPOL_F_STATIC_NODES, [0x00000000000005], 64, MPOL_MF_STRICT|MPOL_MF_MOVE)");
	line(call(SYS_mbind, 1L, 4096L, 99L, 1L, 5L, JUNK(8)), "mbind(0x1, 4096, 0x63 /* MPOL_??? */, 0x1, 5, 0x8 /* MPOL_MF_??? */)");
	line(call(SYS_set_mempolicy, JUNK(99), NULL, 0L), "set_mempolicy(0x63 /* MPOL_??? */, NULL, 0)");
	line(call(SYS_move_pages, JUNK(99999999), 2L, 1L, 1L, 1L, JUNK(4)), "move_pages(99999999, 2, 0x1, 0x1, 0x1, MPOL_MF_MOVE_ALL)");
}

static void random_bytes(void)
{
	unsigned char *b = tail_alloc(4);
	long ret = call(SYS_getrandom, b, 4L, JUNK(1));

	/* A machine that has just been started may have nothing to give yet. */
	if (ret < 0)
		line(ret, "getrandom(%s, 4, GRND_NONBLOCK)", ptr(b));
	else
		line(ret, "getrandom(\"\\x%02x\\x%02x\\x%02x\\x%02x\", 4, GRND_NONBLOCK)", b[0], b[1], b[2], b[3]);
	line(call(SYS_getrandom, 1L, 2L, JUNK(8)), "getrandom(0x1, 2, 0x8 /* GRND_??? */)");
}

static void others(void)
{
	struct {
		void *base;
		size_t len;
	} from = { tail_copy("abcdefgh", 8), 8 }, to = { tail_alloc(8), 8 };
	void *f = tail_copy(&from, sizeof(from)), *t = tail_copy(&to, sizeof(to));

	line(call(SYS_process_vm_readv, JUNK(getpid()), t, 1L, f, 1L, 0L),
	     "process_vm_readv(%d, [{iov_base=\"abcdefgh\", iov_len=8}], 1, [{iov_base=%s, iov_len=8}], 1, 0)", getpid(), ptr(from.base));
	line(call(SYS_process_vm_writev, JUNK(99999999), f, 1L, t, 1L, 0L),
	     "process_vm_writev(99999999, [{iov_base=\"abcdefgh\", iov_len=8}], 1, [{iov_base=%s, iov_len=8}], 1, 0)", ptr(to.base));
	line(call(SYS_process_vm_readv, 99999999L, t, 1L, 1L, 1L, 7L),
	     "process_vm_readv(99999999, [{iov_base=%s, iov_len=8}], 1, 0x1, 1, 7)", ptr(to.base));
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	mappings();
	policy();
	random_bytes();
	others();
	return 0;
}
