/* SPDX-License-Identifier: Apache-2.0 */
#include "provider.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/time.h"
#include "writer/discover.h"
#include "writer/window.h"

#define INDEX_MAX (4U << 20)
#define LAST_MESSAGE 1000000

static int failed(const char *path, struct error *err)
{
	return error_set(err, ERR_DENIED, "'%s': %s", path, strerror(errno));
}

int provider_share(const char *folder, struct error *err)
{
	const char *bucket = strrchr(folder, '/') + 1, *owner = getenv("AWS_ACCESS_KEY_ID");
	CLEANUP(freep)
	char *policy = text_printf(
		err,
		"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":"
		"\"*\",\"Action\":[\"s3:GetObject\",\"s3:ListBucket\"],\"Resource\":"
		"[\"arn:aws:s3:::%s\",\"arn:aws:s3:::%s/*\"]}]}",
		bucket, bucket);
	CLEANUP(freep)
	char *acl = text_printf(err, "{\"owner\":\"%s\",\"grantees\":[]}", owner ? owner : "");

	if (!policy || !acl)
		return ERR_MEMORY;
	if ((mkdir(folder, 0777) < 0 && errno != EEXIST) ||
	    setxattr(folder, "user.policy", policy, strlen(policy), 0) < 0 ||
	    setxattr(folder, "user.acl", acl, strlen(acl), 0) < 0)
		return failed(folder, err);
	return 0;
}

/* An index as it is written. */
struct writing {
	struct buf *out;
	unsigned int number; /* of the last message */
	uint64_t last, next; /* offsets: of the last message, of what follows it */
};

/* Every message of one variable. */
static int add_lines(const struct dataset *dataset, const struct source_file *file, uint32_t v,
		     struct writing *writing, struct error *err)
{
	const struct dataset_variable *variable = &dataset->variables[v];
	const struct dataset_match *match = &variable_era(variable, file->label)->match;
	int level = dataset->groups[variable->group].level, r;
	uint64_t n = level >= 0 ? dataset->dims[level].size : 1;
	char window[WINDOW_TEXT_MAX], date[TIME_TEXT_MAX];

	time_format_seconds(file->init, date);
	r = window_text(variable->step, variable->reset, file->lead, window, err);
	for (uint64_t l = 0; l < n && r == 0; l++) {
		const char *text = match->levels.items[0], *field = strstr(text, "{level}");
		CLEANUP(buf_done) struct buf spelled = BUF_INIT(4096);

		if (field)
			r = buf_append(&spelled, text, (size_t)(field - text), err);
		if (r == 0 && field)
			r = pattern_level(dataset->dims[level].labels[l], &spelled, err);
		if (r == 0)
			r = buf_append_text(&spelled, field ? field + strlen("{level}") : text,
					    err);
		if (r == 0)
			r = buf_printf(writing->out, err,
				       "%u:%llu:d=%.4s%.2s%.2s%.2s:%s:%.*s:%s:\n",
				       ++writing->number, (unsigned long long)writing->next, date,
				       date + 5, date + 8, date + 11, match->elements.items[0],
				       (int)spelled.size, (const char *)spelled.data,
				       match->times.n ? match->times.items[0] : window);
		writing->last = writing->next;
		writing->next += 60000 + writing->number * 7919 % 1000000;
	}
	return r;
}

static int make_folders(char *path, size_t from, struct error *err)
{
	for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return failed(path, err);
		*slash = '/';
	}
	return 0;
}

/* An object appears at once, as on a real store. */
static int put(const char *folder, const char *key, struct slice start, uint64_t offset,
	       uint64_t size, struct error *err)
{
	CLEANUP(freep) char *path = text_printf(err, "%s/%s", folder, key);
	CLEANUP(freep) char *made = text_printf(err, "%s/../new-object", folder);
	FILE *file;
	bool ok;
	int r;

	if (!path || !made)
		return ERR_MEMORY;
	r = make_folders(path, strlen(folder) + 1, err);
	if (r < 0)
		return r;
	file = fopen(made, "wb");
	ok = file && fseeko(file, (off_t)offset, SEEK_SET) == 0 &&
	     fwrite(start.data, 1, start.size, file) == start.size && fflush(file) == 0 &&
	     ftruncate(fileno(file), (off_t)size) == 0;
	if (file)
		ok = fclose(file) == 0 && ok;
	return ok && rename(made, path) == 0 ? 0 : failed(path, err);
}

int provider_publish(const struct dataset *dataset, const struct source_file *file,
		     const char *folder, struct error *err)
{
	static const uint8_t header[16] = {'G',
					   'R',
					   'I',
					   'B',
					   [7] = 2,
					   [13] = LAST_MESSAGE >> 16,
					   [14] = LAST_MESSAGE >> 8 & 0xff,
					   [15] = LAST_MESSAGE & 0xff};
	CLEANUP(buf_done) struct buf index = BUF_INIT(INDEX_MAX);
	struct writing writing = {.out = &index};
	int r = 0;

	for (uint32_t v = 0; v < dataset->n_variables && r == 0; v++)
		if (source_file_holds(dataset, file, v))
			r = add_lines(dataset, file, v, &writing, err);
	if (r == 0)
		r = put(folder, discover_key(file->url), slice_of(header, sizeof(header)),
			writing.last, writing.last + LAST_MESSAGE, err);
	if (r == 0)
		r = put(folder, discover_key(file->index_url), buf_slice(&index), 0, index.size,
			err);
	return r;
}
