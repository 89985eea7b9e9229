/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The shared configuration and credentials files of the AWS tools
 *
 * Threads: any.
 */

#include "base/buf.h"

/*
 * New copy of the value of @key in section @section of @text (with a NUL behind it), or NULL.
 * Indented lines belong to the setting above them and are skipped; of a repeated key the last
 * counts.
 */
char *ini_get(struct slice text, const char *section, const char *key);
/* Is there such a section? */
bool ini_has_section(struct slice text, const char *section);
