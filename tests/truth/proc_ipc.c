/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* System V and POSIX interprocess communication. */
#include "truth.h"
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static void memory(void)
{
	line(call(SYS_shmget, JUNK(5), 1L, JUNK(0777 | 0x800 | 0x1000 | 21 << 26 | 0x100000)),
	     "shmget(0x5, 1, SHM_HUGETLB|SHM_NORESERVE|0x100000|21<<SHM_HUGE_SHIFT|0777)");
	line(call(SYS_shmget, JUNK(-1), -1L, JUNK(0)), "shmget(0xffffffff, 18446744073709551615, 000)");
	line(call(SYS_shmat, JUNK(-1), 0x1000L, JUNK(0x3010)), "shmat(-1, 0x1000, SHM_RDONLY|SHM_RND|0x10)");
	line(call(SYS_shmdt, 1L), "shmdt(0x1)");
	const long id = call(SYS_shmget, JUNK(0), 4096L, JUNK(0600 | IPC_CREAT));
	struct shmid_ds *ds = tail_alloc(sizeof(*ds));
	const long got = call(SYS_shmctl, JUNK(id), JUNK(IPC_STAT), ds);
	line(got,
	     "shmctl(%ld, IPC_STAT, {shm_perm={uid=%u, gid=%u, mode=0600, key=0, cuid=%u, cgid=%u}, shm_segsz=4096, shm_cpid=%d, "
	     "shm_lpid=0, shm_nattch=0, shm_atime=0, shm_dtime=0, shm_ctime=%ld})",
	     id, ds->shm_perm.uid, ds->shm_perm.gid, ds->shm_perm.cuid, ds->shm_perm.cgid, getpid(), (long)ds->shm_ctime);
	call(SYS_shmctl, JUNK(id), JUNK(IPC_RMID), NULL);
	line(call(SYS_shmctl, JUNK(-1), JUNK(IPC_STAT), 1L), "shmctl(-1, IPC_STAT, 0x1)");
	line(call(SYS_shmctl, JUNK(-1), JUNK(99), 1L), "shmctl(-1, 0x63 /* SHM_??? */, 0x1)");
	line(call(SYS_shmctl, JUNK(-1), JUNK(0x100 | IPC_RMID), NULL), "shmctl(-1, IPC_64|IPC_RMID, NULL)");
}

static void semaphores(void)
{
	struct sembuf ops[2] = { { 0, 1, IPC_NOWAIT }, { 1, 0, 0 } };
	long id = call(SYS_semget, JUNK(0), JUNK(2), JUNK(0600 | IPC_CREAT));
	struct timespec t = { 0, 1000 };

	line(id, "semget(IPC_PRIVATE, 2, IPC_CREAT|0600)");
	line(call(SYS_semop, JUNK(id), tail_copy(ops, sizeof(ops)), JUNK(2)),
	     "semop(%ld, [{sem_num=0, sem_op=1, sem_flg=IPC_NOWAIT}, {sem_num=1, sem_op=0, sem_flg=0}], 2)", id);
	struct sembuf *short_one = tail_copy(ops, sizeof(ops));
	line(call(SYS_semop, id, short_one, 3L),
	     "semop(%ld, [{sem_num=0, sem_op=1, sem_flg=IPC_NOWAIT}, {sem_num=1, sem_op=0, sem_flg=0}, ... /* %s */], 3)", id, ptr(short_one + 2));
	struct sembuf many[40] = { { 0 } };
	char want[2048] = "";
	for (int i = 0; i < 32; i++)
		strcat(want, "{sem_num=0, sem_op=0, sem_flg=0}, ");
	line(call(SYS_semop, -1L, tail_copy(many, sizeof(many)), JUNK(40)), "semop(-1, [%s...], 40)", want);
	ops[0].sem_op = -5;
	ops[0].sem_flg = 0x7000;
	line(call(SYS_semtimedop, JUNK(id), tail_copy(ops, sizeof(ops[0])), JUNK(1), tail_copy(&t, sizeof(t))),
	     "semtimedop(%ld, [{sem_num=0, sem_op=-5, sem_flg=SEM_UNDO|0x6000}], 1, {tv_sec=0, tv_nsec=1000})", id);
	line(call(SYS_semctl, JUNK(id), JUNK(1), JUNK(SETVAL), 5L), "semctl(%ld, 1, SETVAL, 0x5)", id);
	line(call(SYS_semctl, JUNK(id), JUNK(0), JUNK(99), 5L), "semctl(%ld, 0, 0x63 /* SEM_??? */, 0x5)", id);
	line(call(SYS_semctl, JUNK(id), 0L, JUNK(IPC_RMID), NULL), "semctl(%ld, 0, IPC_RMID, NULL)", id);
}

static void messages(void)
{
	long id = call(SYS_msgget, JUNK(0), JUNK(0600 | IPC_CREAT | IPC_EXCL));
	struct {
		long type;
		char text[24];
	} m = { 7, "hello, message queue" };

	line(id, "msgget(IPC_PRIVATE, IPC_CREAT|IPC_EXCL|0600)");
	line(call(SYS_msgsnd, JUNK(id), tail_copy(&m, 8 + 20), 20L, JUNK(IPC_NOWAIT)),
	     "msgsnd(%ld, {mtype=7, mtext=\"hello, message queue\"}, 20, IPC_NOWAIT)", id);
	/* no less is read than the size of the struct, whatever the size of the message */
	line(call(SYS_msgsnd, JUNK(id), tail_copy(&m, 16), 0L, JUNK(0x1000)), "msgsnd(%ld, {mtype=7, mtext=\"\"}, 0, MSG_NOERROR)", id);
	void *gap = tail_copy(&m, 7);
	line(call(SYS_msgsnd, JUNK(-1), gap, 8L, 0L), "msgsnd(-1, %s, 8, 0)", ptr(gap));
	void *in = tail_alloc(8 + 24);
	line(call(SYS_msgrcv, JUNK(id), in, 24L, 0L, JUNK(0x3000)), "msgrcv(%ld, {mtype=7, mtext=\"hello, message queue\\0\\0\\0\\0\"}, 24, 0, MSG_NOERROR|MSG_EXCEPT)", id);
	line(call(SYS_msgrcv, JUNK(id), in, 24L, -5L, JUNK(IPC_NOWAIT)), "msgrcv(%ld, %s, 24, -5, IPC_NOWAIT)", id, ptr(in));
	line(call(SYS_msgctl, JUNK(id), JUNK(99), 5L), "msgctl(%ld, 0x63 /* MSG_??? */, 0x5)", id);
	line(call(SYS_msgctl, JUNK(id), JUNK(IPC_RMID), NULL), "msgctl(%ld, IPC_RMID, NULL)", id);
}

static void queues(void)
{
	long a[8] = { 0, 4, 8, 0, 0, 0, 0, 0 };
	char name[32];

	snprintf(name, sizeof(name), "truth-%d", getpid());
	long fd = call(SYS_mq_open, tail_str(name), JUNK(0x42 | 0x800), JUNK(0600), tail_copy(a, sizeof(a)));
	line(fd, "mq_open(\"%s\", O_RDWR|O_CREAT|O_NONBLOCK, 0600, {mq_flags=0, mq_maxmsg=4, mq_msgsize=8, mq_curmsgs=0})", name);
	if (fd >= 0) {
		struct timespec t = { -1, 5 };
		line(call(SYS_mq_timedsend, JUNK(fd), tail_copy("hi\n", 3), 3L, JUNK(5), NULL), "mq_timedsend(%ld, \"hi\\n\", 3, 5, NULL)", fd);
		line(call(SYS_mq_timedreceive, JUNK(fd), tail_alloc(8), 8L, tail_alloc(4), NULL), "mq_timedreceive(%ld, \"hi\\n\", 8, [5], NULL)", fd);
		void *b = tail_alloc(8);
		line(call(SYS_mq_timedreceive, JUNK(fd), b, 8L, NULL, tail_copy(&t, sizeof(t))),
		     "mq_timedreceive(%ld, %s, 8, NULL, {tv_sec=-1, tv_nsec=5})", fd, ptr(b));
		line(call(SYS_mq_getsetattr, JUNK(fd), NULL, tail_alloc(64)),
		     "mq_getsetattr(%ld, NULL, {mq_flags=O_NONBLOCK, mq_maxmsg=4, mq_msgsize=8, mq_curmsgs=0})", fd);
		line(call(SYS_mq_notify, JUNK(fd), NULL), "mq_notify(%ld, NULL)", fd);
		line(call(SYS_mq_unlink, tail_str(name)), "mq_unlink(\"%s\")", name);
	}
	line(call(SYS_mq_open, tail_str("none"), JUNK(0), JUNK(1), 1L), "mq_open(\"none\", O_RDONLY)");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	memory();
	semaphores();
	messages();
	queues();
	return 0;
}
