/* SPDX-License-Identifier: Apache-2.0 */
#include "store/check.h"

#include <inttypes.h>

#include "base/text.h"
#include "base/time.h"

int store_check_range(uint64_t offset, uint64_t *length, uint64_t size, struct error *err)
{
	uint64_t end;

	if (*length == STORE_TO_END && offset <= size) {
		*length = size - offset;
		return 0;
	}
	if (*length == STORE_TO_END)
		return error_set(err, ERR_FORMAT,
				 "the object has %" PRIu64 " bytes, wanted from byte %" PRIu64
				 " on",
				 size, offset);
	if (__builtin_add_overflow(offset, *length, &end) || end > size)
		return error_set(err, ERR_FORMAT,
				 "the object has %" PRIu64 " bytes, wanted %" PRIu64
				 " from byte %" PRIu64 " on",
				 size, *length, offset);
	return 0;
}

static struct slice etag_bare(const char *etag)
{
	struct slice bare = slice_text(etag);

	if (bare.size >= 2 && bare.data[0] == '"' && bare.data[bare.size - 1] == '"')
		return slice_sub(bare, 1, bare.size - 2);
	return bare;
}

bool store_etag_equal(const char *a, const char *b)
{
	if (text_starts(a, "W/") || text_starts(b, "W/"))
		return false;
	return slice_equal(etag_bare(a), etag_bare(b));
}

int store_check_condition(const struct store_condition *condition, const struct store_info *info,
			  struct error *err)
{
	if (!condition)
		return 0;
	if (condition->etag && strcmp(condition->etag, "*") != 0 &&
	    !store_etag_equal(condition->etag, info->version.text))
		return error_set(err, ERR_CHANGED, "the object has ETag %s, recorded was %s",
				 info->version.text[0] ? info->version.text : "(none)",
				 condition->etag);
	if (!condition->not_modified_after)
		return 0;
	/* Recorded times have whole seconds: a fraction of the same second is no change. */
	if (!info->last_modified ||
	    info->last_modified / TIME_SECOND > condition->not_modified_after)
		return error_set(err, ERR_CHANGED,
				 "the object was changed %" PRId64
				 " s after 1970, recorded was %" PRId64,
				 info->last_modified / TIME_SECOND, condition->not_modified_after);
	return 0;
}
