/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int error_set(struct error *err, int kind, const char *format, ...)
{
	va_list args;

	if (!err)
		return kind;
	err->kind = kind;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	text_sanitize(err->text);
	return kind;
}

static int error_kind_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return ERR_ABSENT;
	case EACCES:
	case EPERM:
		return ERR_DENIED;
	case EROFS:
		return ERR_READ_ONLY;
	case ENOMEM:
		return ERR_MEMORY;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case EINTR:
		return ERR_INTERRUPTED;
	case EINVAL:
	case ENAMETOOLONG:
		return ERR_ARGUMENT;
	case ENOSYS:
	case EOPNOTSUPP:
		return ERR_UNSUPPORTED;
	default:
		return ERR_NETWORK;
	}
}

int error_set_errno(struct error *err, int errnum, const char *format, ...)
{
	int kind = error_kind_of_errno(errnum);
	va_list args;
	char cause[128];
	size_t used;

	if (!err)
		return kind;
	err->kind = kind;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s",
		 strerror_r(errnum, cause, sizeof(cause)));
	text_sanitize(err->text);
	return kind;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char old[sizeof(err->text)];
	va_list args;
	size_t used;

	if (!err)
		return ERR_FORMAT;
	memcpy(old, err->text, sizeof(old));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
	text_sanitize(err->text);
	return err->kind;
}

int error_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

int error_exit_status(int kind)
{
	switch (kind) {
	case 0:
		return 0;
	case ERR_ARGUMENT:
		return 2;
	case ERR_THROTTLED:
	case ERR_INTERRUPTED:
	case ERR_TEMPORARY:
		return 75;
	default:
		return 1;
	}
}

int error_errno(int kind)
{
	switch (kind) {
	case 0:
		return 0;
	case ERR_DENIED:
		return EACCES;
	case ERR_CHANGED:
		return ESTALE;
	case ERR_TIMEOUT:
		return ETIMEDOUT;
	case ERR_MEMORY:
		return ENOMEM;
	default:
		return EIO;
	}
}

const char *error_kind_name(int kind)
{
	static const char *const names[] = {
		"none",	    "argument",	 "format",    "absent",	     "denied",
		"changed",  "timeout",	 "throttled", "network",     "unsupported",
		"conflict", "read-only", "memory",    "interrupted", "temporary",
	};

	if (kind > 0 || -kind >= (int)(sizeof(names) / sizeof(names[0])))
		return "unknown";
	return names[-kind];
}
