/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: mmap and what goes with it. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	unsigned char vec[8];
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p, 4096, PROT_READ);
	mprotect(p, 4096, PROT_NONE);
	mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	madvise(p, 8192, MADV_DONTNEED);
	madvise(p, 8192, MADV_HUGEPAGE);
	madvise(p, 8192, 99);
	mlock(p, 4096);
	munlock(p, 4096);
	mlock2(p, 4096, MLOCK_ONFAULT);
	mincore(p, 8192, vec);
	msync(p, 4096, MS_SYNC | MS_INVALIDATE);
	p = mremap(p, 8192, 16384, MREMAP_MAYMOVE);
	mremap(p, 16384, 4096, 0);
	munmap(p, 4096);
	munmap((void *)1, 4096);
	mmap(NULL, 0, PROT_READ, MAP_SHARED, -1, 0);
	mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN, -1, 0);
	mmap((void *)0x10000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);
	int m = memfd_create("a name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ftruncate(m, 10000);
	mmap(NULL, 4096, PROT_READ, MAP_SHARED, m, 4096);
	fcntl(m, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	fcntl(m, F_GET_SEALS);
	memfd_create("x", 0x7000);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	munlockall();
	brk(NULL);
	syscall(SYS_pkey_alloc, 0L, 0L);
	syscall(SYS_pkey_mprotect, p, 4096L, (long)PROT_READ, -1L);
	syscall(SYS_membarrier, 0, 0, 0);
	syscall(SYS_remap_file_pages, p, 4096L, 0L, 0L, 0L);
	return 0;
}
