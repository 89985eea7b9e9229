/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Errors
 *
 * A function that can fail returns int: 0 is done, a positive value is an outcome that its
 * header documents, a negative one is an error kind below, already described in its last
 * parameter @err.  Exit status, errno of the mount and retries follow from the kind alone
 * (docs/ARCHITECTURE.md, "Errors").
 *
 * The text is one line, lower case, no full stop: what failed, the object in single quotes if
 * it is a name from outside, then the cause.  It is set where the cause is known; each layer may
 * put one phrase in front.  Control characters of names from outside are shown as '?'.
 *
 * Threads: a struct error belongs to one thread at a time.
 */

enum error_kind {
	ERR_ARGUMENT = -1,     /* the caller asked for something that cannot be meant */
	ERR_FORMAT = -2,       /* bytes from outside are not what they should be */
	ERR_ABSENT = -3,       /* something that must be there is not */
	ERR_DENIED = -4,       /* not allowed, by the other side or by our own rules */
	ERR_CHANGED = -5,      /* the source is no longer what the reference was made from */
	ERR_TIMEOUT = -6,      /* a deadline passed */
	ERR_THROTTLED = -7,    /* the other side asks for fewer requests */
	ERR_NETWORK = -8,      /* the transport or the file system failed */
	ERR_UNSUPPORTED = -9,  /* valid, but beyond this program */
	ERR_CONFLICT = -10,    /* somebody else changed the same thing first */
	ERR_READ_ONLY = -11,   /* the repository or store accepts no writes */
	ERR_MEMORY = -12,      /* out of memory, or beyond a memory budget */
	ERR_INTERRUPTED = -13, /* asked to stop */
	ERR_TEMPORARY = -14,   /* tried again and again in vain; later it may be otherwise */
	ERR_LAST = ERR_TEMPORARY
};

struct error {
	int kind; /* 0 or an error_kind */
	char text[512];
};

#define ERROR_INIT ((struct error){0})

/* Sets kind and text (cut at its size); returns @kind.  @err may be NULL. */
int error_set(struct error *err, int kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As error_set() with ": " and the text of @errnum appended; the kind follows from @errnum. */
int error_set_errno(struct error *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts a phrase and ": " in front of the text; returns the kind. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets ERR_MEMORY "out of memory"; returns it. */
int error_memory(struct error *err);

/* Exit status of a program that ends with this error kind (0 gives 0). */
int error_exit_status(int kind);
/* Positive errno with which the mount answers an error of this kind (0 gives 0). */
int error_errno(int kind);
/* "format", "timeout" ...: the kind's name as logs and JSON show it. */
const char *error_kind_name(int kind);
