/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Everything that can be done with bytes of one format, for bytes that may be anything
 *
 * Used by the fuzz targets and by the tests with damaged files.  Each function looks at all that a
 * decoder lends and abort()s when something that must hold does not: what was accepted can be
 * written and read again.
 */

#include "base/buf.h"

void walk_envelope(struct slice file);
void walk_snapshot(struct slice payload);
void walk_manifest(struct slice payload);
void walk_txlog(struct slice payload);
void walk_repo(struct slice payload);
void walk_flex(struct slice bytes);
void walk_msgpack(struct slice bytes);
void walk_config_yaml(struct slice text);
void walk_config_json(struct slice text);
void walk_ref1(struct slice text);
