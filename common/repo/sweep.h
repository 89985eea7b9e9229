/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What collection and expiry share.  Internal to this folder.
 */

#include "repo/internal.h"
#include "repo/maintain.h"

/* Tells the caller of one thing that goes or stays.  The options may have no listener. */
int sweep_tell(const struct sweep_options *options, bool goes, const char *name, const char *reason,
	       struct error *err);
