/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Locals that clean themselves up
 *
 * CLEANUP(f) in front of a declaration calls f(&local) when the scope ends, so any line may
 * return.  TAKE moves the value out and leaves NULL: the moment ownership passes on.
 */

#define CLEANUP(function) __attribute__((cleanup(function)))

#define TAKE(pointer)                                   \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = 0;                          \
		taken_;                                 \
	})

/* Defines function##p for CLEANUP from a function that takes the value itself. */
#define DEFINE_CLEANUP(type, function)              \
	static inline void function##p(type *local) \
	{                                           \
		if (*local)                         \
			function(*local);           \
	}

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* CLEANUP(freep) for what malloc() gave. */
void freep(void *pointer_to_pointer);
/* CLEANUP(closep) for a file descriptor; negative is fine.  Keeps errno. */
void closep(const int *fd);
