/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interned texts: each distinct one is kept once and has a number, in the order of first use
 *
 * Internal to this folder.  Threads: one at a time.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"

struct interned_text {
	struct slice text;
	uint32_t hash;
	uint32_t place; /* for the user: where the text was written */
};

DEFINE_VEC(interned_texts, struct interned_text);

struct intern {
	struct arena arena;
	struct interned_texts texts;
	uint32_t *slots; /* number + 1, or 0; a power of two of them */
	uint32_t n_slots;
	uint32_t last;
};

#define INTERN_INIT ((struct intern){.arena = ARENA_INIT})

void intern_done(struct intern *intern);
/* The number of @text, which is copied when it is new.  ERR_MEMORY. */
int intern_text(struct intern *intern, struct slice text, uint32_t *ret_number, struct error *err);
/* Forgets the text that was added last, before any other is added. */
void intern_forget_last(struct intern *intern);
/* Bytes of memory held. */
size_t intern_memory(const struct intern *intern);
