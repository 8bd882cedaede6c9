/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: old asynchronous I/O, keys, seccomp, io_uring, bpf, perf, landlock: mostly calls that fail. */
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	aio_context_t ctx = 0;
	char buf[100] = "data";
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PWRITE,
			   .aio_fildes = 1,
			   .aio_buf = (uintptr_t)buf,
			   .aio_nbytes = 4 },
		    *list[1] = { &cb };
	struct io_event ev[2];
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, code };
	struct io_uring_params up = { 0 };
	union bpf_attr attr;
	struct perf_event_attr pa = { .type = PERF_TYPE_SOFTWARE,
				      .size = sizeof(pa),
				      .config = PERF_COUNT_SW_CPU_CLOCK,
				      .disabled = 1,
				      .sample_period = 100 };
	uint32_t act = SECCOMP_RET_ERRNO;
	int fds[2] = { 0, 1 };

	syscall(SYS_io_setup, 4L, &ctx);
	cb.aio_fildes = -1;
	syscall(SYS_io_submit, ctx, 1L, list);
	syscall(SYS_io_getevents, ctx, 0L, 2L, ev, NULL);
	syscall(SYS_io_cancel, ctx, &cb, ev);
	syscall(SYS_io_destroy, ctx);
	syscall(SYS_add_key, "user", "espy:oracle", "payload", 7L, KEY_SPEC_PROCESS_KEYRING);
	syscall(SYS_request_key, "user", "espy:nothing", NULL, KEY_SPEC_SESSION_KEYRING);
	syscall(SYS_keyctl, KEYCTL_LINK, 5, KEY_SPEC_SESSION_KEYRING);
	syscall(SYS_keyctl, KEYCTL_REVOKE, 5);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xff0, &prog);
	syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &act);
	syscall(SYS_seccomp, 77, 7, 8);
	int u = syscall(SYS_io_uring_setup, 4, &up);
	syscall(SYS_io_uring_register, u, IORING_REGISTER_FILES, fds, 2);
	syscall(SYS_io_uring_register, u, IORING_UNREGISTER_FILES, NULL, 0);
	syscall(SYS_io_uring_enter, u, 0, 0, 0, NULL, 0L);
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 4;
	syscall(SYS_bpf, BPF_MAP_CREATE, &attr, 72);
	attr.map_fd = -1;
	attr.key = 0x1234;
	syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, 32);
	syscall(SYS_perf_event_open, &pa, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	syscall(SYS_landlock_create_ruleset, NULL, 0L, 1);
	syscall(SYS_landlock_restrict_self, -1, 0);
	return 0;
}
