/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Running a program for its output
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "base/error.h"

/*
 * Runs @command with the shell and appends its standard output to @out; its standard error is
 * ours.  ERR_DENIED if it fails, ERR_TIMEOUT after @timeout_ms.
 */
int command_output(const char *command, unsigned int timeout_ms, struct buf *out,
		   struct error *err);
