/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiled BPF objects, see object.c: tracing, holding tasks, and probes. */
#ifndef ESPY_BPF_BPF_OBJECTS_H
#define ESPY_BPF_BPF_OBJECTS_H

/* The programs for one ring of the kernel's, and the programs for rings of our own. */
extern const unsigned char espy_bpf_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_object_end[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_rings_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_rings_object_end[] __attribute__((visibility("hidden")));
/* Holding tasks, in the same two forms. */
extern const unsigned char espy_bpf_pause_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_pause_object_end[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_pause_rings_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_pause_rings_object_end[] __attribute__((visibility("hidden")));
/* Probes. */
extern const unsigned char espy_bpf_probe_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_probe_object_end[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_probe_rings_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_probe_rings_object_end[] __attribute__((visibility("hidden")));
/* Operations of io_uring. */
extern const unsigned char espy_bpf_uring_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_uring_object_end[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_uring_rings_object[] __attribute__((visibility("hidden")));
extern const unsigned char espy_bpf_uring_rings_object_end[] __attribute__((visibility("hidden")));

#endif
