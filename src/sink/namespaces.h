/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Namespaces that calls have made or entered. */
#ifndef ESPY_SINK_NAMESPACES_H
#define ESPY_SINK_NAMESPACES_H

#include "base/buf.h"
#include "describe/call_view.h"
#include "state/resolver.h"

/* Asks for the namespaces after the call if it has changed some, so that the answer becomes a part of the stream. */
void espy_namespaces__ask(const struct espy_call_view *v, const struct espy_resolver *r);
/* Appends ` (uts:[4026532178], net:[4026532180])`, the namespaces that the call has changed; nothing if it has changed
 * none. */
void espy_namespaces__put(struct espy_buf *b, const struct espy_call_view *v, const struct espy_resolver *r);

#endif
