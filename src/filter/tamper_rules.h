/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules of tampering as text:
 *
 *	inject=CALLS[:error=ERRNO|:retval=NUMBER][:syscall=CALL][:signal=SIGNAL][:delay_enter=TIME][:delay_exit=TIME]
 *	       [:poke_enter=@argN=HEX[,@argM=HEX...]][:poke_exit=...][:when=FIRST[..LAST][+[STEP]]]
 *	fault=CALLS[:error=ERRNO][:when=...]
 *
 * CALLS as in -e trace=; TIME: a number with s, ms, us, ns, alone microseconds.
 */
#ifndef ESPY_FILTER_TAMPER_RULES_H
#define ESPY_FILTER_TAMPER_RULES_H

#include "filter/call_filter.h"

/*
 * Adds one rule to the filter; text is what stands behind `inject=` (fault: behind `fault=`). Returns 0; -ENOMEM; -EINVAL with
 * the message in err.
 */
int espy_tamper_rules__add(struct espy_filter *f, const struct espy_image *const images[ESPY_ABI_CNT], const char *text,
			   bool fault, char *err, size_t err_sz);
void espy_tamper_rules__free(struct espy_filter *f);

#endif
