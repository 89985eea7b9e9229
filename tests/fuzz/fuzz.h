/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fuzz target is one function.  libFuzzer calls it in a build with -Dfuzz=true; in all others
 * replay.c calls it with each file of the kept corpus and with variants of it.
 */

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
