/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/packed_object.h"

#include <errno.h>
#include <stdlib.h>

int espy_packed_object__open(struct bpf_object **obj, const struct espy_packed *p, const char *name, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = name, .btf_custom_path = types && *types ? types : NULL);
	size_t size;
	void *bytes = espy_packed__open(p, &size);

	*obj = bytes ? bpf_object__open_mem(bytes, size, &opts) : NULL;
	const int err = *obj ? 0 : bytes ? -errno : -ENOMEM;

	free(bytes); /* libbpf has copied what it keeps */
	return err;
}
