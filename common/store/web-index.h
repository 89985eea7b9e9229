/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pages with which web servers show what is in a folder
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "base/vec.h"

DEFINE_VEC(web_names, char *);

void web_names_free(struct web_names *names);

/*
 * Adds the names, sorted, that the links of the HTML @page mean in the folder itself: of folders
 * with a '/' at the end.  @path is the folder's on the server.  Links elsewhere are left out.
 */
int web_index_read(const char *path, struct slice page, struct web_names *names, struct error *err);
