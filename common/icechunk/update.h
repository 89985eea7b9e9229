/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the tables of the log's entries keep a name, the snapshot before and the new one
 *
 * Internal to this folder.
 */

#include <stdint.h>

#include "icechunk/repoinfo.h"

#define UPDATE_TYPES (UPDATE_REPO_STATUS_CHANGED + 1)
#define UPDATE_NO_SLOT 0xff

struct update_layout {
	const char *name;
	uint8_t name_slot, previous_slot, snapshot_slot; /* or UPDATE_NO_SLOT */
};

extern const struct update_layout update_layouts[UPDATE_TYPES];
