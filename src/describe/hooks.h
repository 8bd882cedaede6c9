/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers of hooks (hooks.def), as they stand in an image. */
#ifndef ESPY_DESCRIBE_HOOKS_H
#define ESPY_DESCRIBE_HOOKS_H

/* espy_type.hook, and the high half of espy_ret.note */
enum espy_hook {
	ESPY_HOOK_NONE = 0,
#define ESPY_HOOK(id, name) ESPY_HOOK_##id,
#define ESPY_HOOK_GONE(id) ESPY_HOOK_##id,
#include "describe/hooks.def"
	ESPY_HOOK_CNT
};

#endif
