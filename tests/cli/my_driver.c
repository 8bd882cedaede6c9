/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls the driver of docs/examples/my_driver.espy, which no machine has: what is shown is the
 * description's doing. The structs are those of its comment, so that its command numbers and its
 * layouts are held against the compiler's.
 */
#include <linux/ioctl.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct mydrv_config {
	uint32_t mode, flags;
	uint64_t name;
	uint32_t name_len, speed;
};
struct mydrv_status {
	uint32_t state;
	int32_t error;
	uint64_t frames;
};
#define MYDRV_RESET _IO('m', 0xe0)
#define MYDRV_SET_CONFIG _IOW('m', 0xe1, struct mydrv_config)
#define MYDRV_GET_STATUS _IOR('m', 0xe2, struct mydrv_status)
#define MYDRV_WAIT _IOWR('m', 0xe3, uint32_t)
#define MYDRV_UNKNOWN _IO('m', 0xe9)

int main(void)
{
	char name[] = "eth7, and more";
	struct mydrv_config config = { .mode = 1, .flags = 13, .name = (uintptr_t)name, .name_len = 4 };
	uint32_t frames = 3;

	ioctl(-1, MYDRV_RESET);
	ioctl(-1, MYDRV_SET_CONFIG, &config);
	ioctl(-1, MYDRV_GET_STATUS, 8L);
	ioctl(-1, MYDRV_WAIT, &frames);
	ioctl(-1, MYDRV_UNKNOWN, 8L);
	return 0;
}
