/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/lookups.h"

/* A trace answers by its FACT records, which are applied to the state like all others. */
const struct espy_lookups espy_lookups_trace = { 0 };
