/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a guest of three instructions until it halts, and writes to standard output why each KVM_RUN returned. 77: no
 * KVM. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

int main(void)
{
	/* out %al, $0x10; mov %al, 0x8000, where no memory is; hlt */
	static const uint8_t code[] = { 0xe6, 0x10, 0xa2, 0x00, 0x80, 0xf4 };
	const int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region region = { .guest_phys_addr = 0x1000,
						      .memory_size = 4096,
						      .userspace_addr = (uint64_t)(uintptr_t)memory };
	struct kvm_regs regs = { .rip = 0x1000, .rflags = 2 };
	struct kvm_sregs segments;

	if (vm < 0 || memory == MAP_FAILED || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region)) {
		perror("KVM");
		return 77;
	}
	memcpy(memory, code, sizeof(code));
	const int cpu = ioctl(vm, KVM_CREATE_VCPU, 0), size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	struct kvm_run *run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);

	if (run == MAP_FAILED || ioctl(cpu, KVM_GET_SREGS, &segments)) {
		perror("KVM");
		return 77;
	}
	segments.cs.base = segments.cs.selector = 0;
	if (ioctl(cpu, KVM_SET_SREGS, &segments) || ioctl(cpu, KVM_SET_REGS, &regs))
		return 1;
	for (unsigned i = 0; i < 8; i++) {
		if (ioctl(cpu, KVM_RUN, 0))
			return 1;
		printf("%d %u\n", cpu, run->exit_reason);
		if (run->exit_reason == KVM_EXIT_HLT)
			return 0;
	}
	return 1;
}
