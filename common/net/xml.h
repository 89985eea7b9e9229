/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The XML that object stores answer with
 *
 * No document type, so no entities of its own can blow up or reach for files; bounded depth.
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "base/error.h"

/*
 * Called at the end of each element: @path is "Root/Child/Name", @text what stood directly in it,
 * both lent.  A negative result ends the reading with it.
 */
typedef int (*xml_fn)(void *argument, const char *path, const char *text, struct error *err);

/* Reads a whole document.  ERR_FORMAT with line and cause. */
int xml_parse(struct slice document, xml_fn each, void *argument, struct error *err);

/* New copy of the text of the first element at @path, or NULL; the caller frees it. */
char *xml_text(struct slice document, const char *path);

/* Appends @text with &, <, > and quotes escaped.  ERR_ARGUMENT for bytes that XML cannot hold. */
int xml_escape(struct slice text, struct buf *out, struct error *err);
