/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Comparison by a JSON library that is not ours; apart, since both have names in common. */

#include <stdbool.h>
#include <stddef.h>

/* The same value, whatever the order of members? Prints both if not. */
bool json_texts_equal(const void *a, size_t a_size, const void *b, size_t b_size);
