/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ESPY_RECORD_LOSS_TEXT_H
#define ESPY_RECORD_LOSS_TEXT_H

/* The words for a reason of loss (record.h); never NULL. */
const char *espy_loss_text(unsigned reason);

#endif
