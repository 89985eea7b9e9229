/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cmd-grib.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/table.h"
#include "grib/grib.h"
#include "grib/worker.h"
#include "store/store.h"

enum {
	BENCH_WARM_UP = 2, /* repetitions that do not count */
	BENCH_REPEAT = 25,
	READ_TIMEOUT_MS = 60000,
};

/* Points of one field that are believed without a chunk shape to compare with: 2 GiB of float64. */
#define POINTS_MAX (UINT64_C(1) << 28)

/* A file, or an object of a store. */
struct input {
	const char *name; /* as given, for messages */
	int fd;		  /* negative for an object */
	struct store *store;
	const char *key; /* within @name */
	uint64_t size;
};

static void input_done(struct input *input)
{
	closep(&input->fd);
	store_free(input->store);
}

static int read_file(const struct input *input, uint64_t offset, size_t length, uint8_t *out,
		     struct error *err)
{
	while (length > 0) {
		ssize_t n = pread(input->fd, out, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "cannot read '%s'", input->name);
		if (n == 0)
			return error_set(err, ERR_FORMAT, "cannot read '%s': it became shorter",
					 input->name);
		out += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

static int read_input(void *context, uint64_t offset, size_t length, uint8_t *out,
		      struct error *err)
{
	const struct input *input = context;
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(length);
	int r;

	if (input->fd >= 0)
		return read_file(input, offset, length, out, err);
	r = store_get(input->store, input->key, offset, length, NULL, &bytes, NULL, err);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "no object at '%s'", input->name);
	if (r < 0)
		return r;
	memcpy(out, bytes.data, length);
	return 0;
}

static int open_file(const char *name, struct input *input, struct error *err)
{
	struct stat status;

	input->fd = open(name, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0 || fstat(input->fd, &status) < 0)
		return error_set_errno(err, errno, "cannot open '%s'", name);
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERR_FORMAT, "'%s' is not a regular file", name);
	input->size = (uint64_t)status.st_size;
	return 0;
}

static int open_object(const char *url, const struct cli_common *common, struct input *input,
		       struct error *err)
{
	struct store_options options = {
		.endpoint_url = common->endpoint_url,
		.region = common->region,
		.anonymous = common->anonymous,
		.path_style = common->path_style,
		.allow_private = true, /* the user names it himself */
		.read_only = true,
		.timeout_ms = READ_TIMEOUT_MS,
	};
	/* In a query a slash is not the end of a folder. */
	size_t path = strncmp(url, "http", 4) == 0 ? strcspn(url, "?") : strlen(url);
	CLEANUP(freep) char *root = NULL;
	struct store_info info;
	int r;

	while (path > 0 && url[path - 1] != '/')
		path--;
	root = text_printf(err, "%.*s", (int)path, url);
	if (!root)
		return ERR_MEMORY;
	input->key = url + path;
	r = store_open(root, &options, &input->store, err);
	if (r < 0)
		return r;
	r = store_head(input->store, input->key, &info, err);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "no object at '%s'", url);
	if (r < 0)
		return r;
	input->size = info.size;
	return 0;
}

static int open_input(const char *name, const struct cli_common *common, struct input *input,
		      struct error *err)
{
	*input = (struct input){.name = name, .fd = -1};
	if (strncmp(name, "file://", 7) == 0)
		return open_file(name + 7, input, err);
	if (strstr(name, "://"))
		return open_object(name, common, input, err);
	return open_file(name, input, err);
}

/* scan */

struct scan {
	struct cli_common common;
	const char *name;
	bool json, idx;
};

static const struct cli_option scan_options[] = {
	{CLI_ARGUMENT, "FILE|URL", CLI_AT(struct scan, name), .required = true},
	{CLI_FLAG, "json", CLI_AT(struct scan, json), .help = "print one JSON document"},
	{CLI_FLAG, "idx", CLI_AT(struct scan, idx), .help = "print an index as NOAA's .idx files"},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct scan, common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct scan, common)},
	{CLI_END},
};

struct listing {
	const struct scan *options;
	struct table table;
	struct buf text; /* JSON or index */
	size_t n;
	struct error first_bad; /* kind 0: none */
};

static void listing_done(struct listing *listing)
{
	table_done(&listing->table);
	buf_done(&listing->text);
}

static int json_member(struct buf *out, const char *name, const char *text, struct error *err)
{
	int r = buf_printf(out, err, ",\"%s\":", name);

	return r < 0 ? r : json_write_text(out, slice_text(text), err);
}

static int list_json(struct listing *listing, const struct grib_entry *entry, struct error *err)
{
	const struct grib_info *info = &entry->info;
	struct buf *out = &listing->text;
	char reference[TIME_TEXT_MAX];
	int r;

	r = buf_printf(out, err, "%s\n{\"message\":%u,\"field\":%u,\"offset\":%" PRIu64,
		       listing->n ? "," : "[", entry->message, entry->field, entry->offset);
	if (r < 0)
		return r;
	if (entry->bad) {
		r = json_member(out, "error", entry->bad, err);
		return r < 0 ? r : buf_append_text(out, "}", err);
	}
	time_format_seconds(info->reference_time, reference);
	r = buf_printf(out, err,
		       ",\"length\":%" PRIu64
		       ",\"edition\":%d,\"discipline\":%d,\"category\":%d,\"number\":%d,"
		       "\"center\":%d,\"product_template\":%d,\"packing_template\":%d,"
		       "\"grid_template\":%d,\"n_points\":%" PRIu64
		       ",\"ni\":%u,\"nj\":%u,\"scan\":%u,\"bits_per_value\":%u,\"bitmap\":%s,"
		       "\"decoder\":\"%s\"",
		       entry->length, info->edition, info->discipline, info->category, info->number,
		       info->centre, info->product_template, info->packing_template,
		       info->grid_template, info->n_points, info->ni, info->nj, info->scan,
		       info->bits_per_value, info->has_bitmap ? "true" : "false",
		       info->direct ? "direct" : "eccodes");
	r = r < 0 ? r : json_member(out, "parameter", info->parameter, err);
	r = r < 0 ? r : json_member(out, "level", info->level, err);
	r = r < 0 ? r : json_member(out, "time", info->time, err);
	r = r < 0 ? r : json_member(out, "extra", info->extra, err);
	r = r < 0 ? r : json_member(out, "reference_time", reference, err);
	r = r < 0 ? r : json_member(out, "packing", info->packing, err);
	r = r < 0 ? r : json_member(out, "grid", info->grid, err);
	return r < 0 ? r : buf_append_text(out, "}", err);
}

static void list_row(struct listing *listing, const struct grib_entry *entry)
{
	const struct grib_info *info = &entry->info;
	struct table *table = &listing->table;

	if (entry->n_fields > 1)
		table_cell(table, "%u.%u", entry->message, entry->field);
	else
		table_cell(table, "%u", entry->message);
	table_cell(table, "%" PRIu64, entry->offset);
	table_cell(table, "%" PRIu64, entry->length);
	table_cell(table, "%d", info->edition);
	table_cell(table, "%s", info->date);
	table_cell(table, "%s", info->parameter);
	table_cell(table, "%s", info->level);
	table_cell(table, "%s%s%s", info->time, info->extra[0] ? ":" : "", info->extra);
	table_cell(table, "%s", info->packing);
	if (info->ni && info->nj)
		table_cell(table, "%s %ux%u", info->grid, info->ni, info->nj);
	else
		table_cell(table, "%s %" PRIu64, info->grid, info->n_points);
}

static int list_entry(void *context, const struct grib_entry *entry, struct error *err)
{
	struct listing *listing = context;
	int r = 0;

	if (entry->bad && listing->first_bad.kind == 0)
		error_set(&listing->first_bad, ERR_FORMAT,
			  "'%s': bad message at offset %" PRIu64 ": %s", listing->options->name,
			  entry->offset, entry->bad);
	if (listing->options->json)
		r = list_json(listing, entry, err);
	else if (!entry->bad && listing->options->idx)
		r = grib_write_idx_line(entry, &listing->text, err);
	else if (!entry->bad)
		list_row(listing, entry);
	listing->n++;
	return r;
}

static int run_scan(struct cli *cli, const void *options, struct error *err)
{
	const struct scan *o = options;
	CLEANUP(listing_done)
	struct listing listing = {
		.options = o, .table = TABLE_INIT("rrrlllllll"), .text = BUF_INIT(BUF_NO_LIMIT)};
	CLEANUP(input_done) struct input input = {.fd = -1};
	struct grib_source source;
	int r;

	r = open_input(o->name, &o->common, &input, err);
	if (r < 0)
		return r;
	source = (struct grib_source){.context = &input, .size = input.size, .read = read_input};
	r = grib_scan(&source, list_entry, &listing, err);
	if (r < 0)
		return r;
	if (listing.n == 0)
		return error_set(err, ERR_FORMAT, "no GRIB message in '%s'", o->name);
	if (o->json) {
		r = buf_append_text(&listing.text, "\n]\n", err);
		if (r < 0)
			return r;
	}
	r = table_print(&listing.table, cli->out, err);
	if (r < 0)
		return r;
	output_drain(cli->out, &listing.text);
	if (listing.first_bad.kind == 0)
		return 0;
	/* The good ones are listed all the same. */
	r = output_flush(cli->out, err);
	return r < 0 ? r : error_set(err, ERR_FORMAT, "%s", listing.first_bad.text);
}

/* decode and bench */

struct decode {
	struct cli_common common;
	const char *name;
	struct cli_u64 message, offset, length;
	bool north_up, adjust_longitude_range, summary, json;
	int mode, type;
	const char *var;
	struct cli_u64 repeat;
};

static const char *const mode_names[] = {"wmo", "gribberish", NULL};
static const char *const type_names[] = {"float64", "float32", NULL};

static const struct cli_option decode_options[] = {
	{CLI_ARGUMENT, "FILE|URL", CLI_AT(struct decode, name), .required = true},
	{CLI_U64, "message", CLI_AT(struct decode, message), .value = "N",
	 .help = "the Nth message, counted from 1"},
	{CLI_U64, "offset", CLI_AT(struct decode, offset), .value = "O",
	 .help = "the bytes that begin here"},
	{CLI_U64, "length", CLI_AT(struct decode, length), .value = "L",
	 .help = "with --offset: how many, whatever the message says"},
	{CLI_FLAG, "north-up", CLI_AT(struct decode, north_up), .help = "rows from the north"},
	{CLI_FLAG, "adjust-longitude-range", CLI_AT(struct decode, adjust_longitude_range),
	 .help = "columns from 180 W"},
	{CLI_CHOICE, "decode", CLI_AT(struct decode, mode), .choices = mode_names, .value = "MODE",
	 .help = "what the WMO defines, or what gribberish returns"},
	{CLI_TEXT, "var", CLI_AT(struct decode, var), .value = "latitude|longitude",
	 .help = "a coordinate instead of the field"},
	{CLI_CHOICE, "type", CLI_AT(struct decode, type), .choices = type_names, .value = "TYPE",
	 .help = "of the values"},
	{CLI_FLAG, "summary", CLI_AT(struct decode, summary),
	 .help = "print count, missing, min, max and mean"},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct decode, common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct decode, common)},
	{CLI_END},
};

static const struct cli_option bench_options[] = {
	{CLI_ARGUMENT, "FILE", CLI_AT(struct decode, name), .required = true},
	{CLI_U64, "message", CLI_AT(struct decode, message), .value = "N",
	 .help = "the Nth message, counted from 1"},
	{CLI_U64, "offset", CLI_AT(struct decode, offset), .value = "O",
	 .help = "the bytes that begin here"},
	{CLI_U64, "length", CLI_AT(struct decode, length), .value = "L",
	 .help = "with --offset: how many, whatever the message says"},
	{CLI_CHOICE, "type", CLI_AT(struct decode, type), .choices = type_names, .value = "TYPE",
	 .help = "of the values"},
	{CLI_U64, "repeat", CLI_AT(struct decode, repeat), .value = "N",
	 .help = "repetitions that count (25, at least 15)"},
	{CLI_FLAG, "json", CLI_AT(struct decode, json), .help = "print one JSON document"},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct decode, common)},
	{CLI_END},
};

static int check_decode(const struct decode *o, struct error *err)
{
	if (o->message.given && (o->offset.given || o->length.given))
		return error_set(err, ERR_ARGUMENT, "--message and --offset exclude each other");
	if (o->length.given && !o->offset.given)
		return error_set(err, ERR_ARGUMENT, "--length needs --offset");
	if (o->message.given && o->message.value == 0)
		return error_set(err, ERR_ARGUMENT, "messages are counted from 1");
	if (o->var && grib_var_from_text(o->var) == GRIB_VAR_NONE)
		return error_set(err, ERR_ARGUMENT, "--var is latitude or longitude, not '%s'",
				 o->var);
	return 0;
}

static struct grib_decode_options options_of(const struct decode *o)
{
	return (struct grib_decode_options){
		.mode = o->mode == 0 ? GRIB_WMO : GRIB_GRIBBERISH,
		.var = grib_var_from_text(o->var),
		.type = o->type == 0 ? GRIB_F64 : GRIB_F32,
		.north_up = o->north_up,
		.adjust_longitude_range = o->adjust_longitude_range,
	};
}

struct wanted {
	unsigned int message;
	bool found;
	uint64_t offset, length;
};

enum { STOP = ERR_INTERRUPTED };

static int look_for(void *context, const struct grib_entry *entry, struct error *err)
{
	struct wanted *wanted = context;

	/* What cannot be read may be the first message: the decoder says what is wrong with it. */
	if (entry->message != wanted->message || (entry->bad && wanted->message != 1))
		return 0;
	wanted->found = true;
	wanted->offset = entry->offset;
	wanted->length = entry->bad ? UINT64_MAX : entry->length;
	return error_set(err, STOP, "found");
}

static int find_range(const struct input *input, const struct decode *o, uint64_t *ret_offset,
		      uint64_t *ret_length, struct error *err)
{
	struct wanted wanted = {.message = o->message.given ? (unsigned int)o->message.value : 1};
	struct grib_source source = {
		.context = (void *)(uintptr_t)input, .size = input->size, .read = read_input};
	uint64_t left;
	int r;

	if (o->message.given && o->message.value > UINT32_MAX)
		return error_set(err, ERR_ARGUMENT, "no message %" PRIu64, o->message.value);
	if (!o->offset.given) {
		r = grib_scan(&source, look_for, &wanted, err);
		if (r < 0 && !wanted.found)
			return r;
		if (!wanted.found)
			return error_set(err, ERR_FORMAT, "no message %u in '%s'", wanted.message,
					 input->name);
	} else {
		wanted.offset = o->offset.value;
		wanted.length = o->length.given ? o->length.value : UINT64_MAX;
	}
	if (wanted.offset > input->size)
		return error_set(err, ERR_FORMAT,
				 "offset %" PRIu64 " is beyond the %" PRIu64 " bytes of '%s'",
				 wanted.offset, input->size, input->name);
	left = input->size - wanted.offset;
	if (o->length.given && o->length.value > left)
		return error_set(err, ERR_FORMAT,
				 "%" PRIu64 " bytes from offset %" PRIu64
				 " on are beyond the %" PRIu64 " bytes of '%s'",
				 o->length.value, wanted.offset, input->size, input->name);
	*ret_offset = wanted.offset;
	*ret_length = wanted.length < left ? wanted.length : left;
	return 0;
}

/* Without a length the message's own counts, if what begins there is one. */
static uint64_t own_length(const struct input *input, const struct decode *o, uint64_t offset,
			   uint64_t length)
{
	uint8_t start[16];
	size_t n = length < sizeof(start) ? (size_t)length : sizeof(start);
	uint64_t own;
	int edition;

	if (!o->offset.given || o->length.given ||
	    read_input((void *)(uintptr_t)input, offset, n, start, NULL) < 0 ||
	    grib_header(slice_of(start, n), &edition, &own, NULL) < 0)
		return length;
	/* A message counted in units has an upper bound there; a wrong length is the decoder's. */
	return own < length && own >= 20 ? own : length;
}

static int read_message(const struct decode *o, struct buf *message, struct error *err)
{
	CLEANUP(input_done) struct input input = {.fd = -1};
	uint64_t offset = 0, length = 0;
	uint8_t *room;
	int r;

	r = open_input(o->name, &o->common, &input, err);
	if (r < 0)
		return r;
	r = find_range(&input, o, &offset, &length, err);
	if (r < 0)
		return r;
	length = own_length(&input, o, offset, length);
	*message = BUF_INIT(length ? length : 1);
	r = buf_extend(message, length, &room, err);
	if (r < 0)
		return r;
	return length ? read_input(&input, offset, length, room, err) : 0;
}

static int allocate_values(struct slice message, const struct grib_decode_options *options,
			   void **ret_values, uint64_t *ret_n, struct error *err)
{
	uint64_t n;
	int r;

	r = grib_value_count(message, options, &n, err);
	if (r < 0)
		return r;
	if (n > POINTS_MAX)
		return error_set(err, ERR_MEMORY, "%" PRIu64 " values are more than %" PRIu64, n,
				 POINTS_MAX);
	*ret_values = malloc((n ? n : 1) * grib_type_size(options->type));
	if (!*ret_values)
		return error_memory(err);
	*ret_n = n;
	return 0;
}

static void print_summary(struct cli *cli, const void *values, uint64_t n, enum grib_type type)
{
	double least = INFINITY, most = -INFINITY, sum = 0, carry = 0;
	uint64_t missing = 0;
	char text[32];

	for (uint64_t i = 0; i < n; i++) {
		double value = type == GRIB_F64 ? ((const double *)values)[i]
						: (double)((const float *)values)[i];
		double term, next;

		if (isnan(value)) {
			missing++;
			continue;
		}
		least = fmin(least, value);
		most = fmax(most, value);
		/* Kahan's summation: millions of terms. */
		term = value - carry;
		next = sum + term;
		carry = (next - sum) - term;
		sum = next;
	}
	output_printf(cli->out, "count %" PRIu64 "\nmissing %" PRIu64 "\n", n, missing);
	if (missing == n)
		least = most = sum = NAN;
	text_repr(least, text);
	output_printf(cli->out, "min %s\n", text);
	text_repr(most, text);
	output_printf(cli->out, "max %s\n", text);
	text_repr(sum / (double)(n - missing), text);
	output_printf(cli->out, "mean %s\n", text);
}

static int run_decode(struct cli *cli, const void *options, struct error *err)
{
	const struct decode *o = options;
	struct grib_decode_options wanted = options_of(o);
	CLEANUP(grib_workers_freep) struct grib_workers *workers = NULL;
	CLEANUP(buf_done) struct buf message = BUF_INIT(0);
	CLEANUP(freep) void *values = NULL;
	uint64_t n = 0;
	int r;

	r = check_decode(o, err);
	if (r < 0)
		return r;
	/* Before a store starts threads. */
	r = grib_workers_start(&(struct grib_worker_options){0}, &workers, err);
	if (r < 0)
		return r;
	r = read_message(o, &message, err);
	if (r < 0)
		return r;
	r = allocate_values(buf_slice(&message), &wanted, &values, &n, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", o->name);
	r = grib_workers_decode(workers, buf_slice(&message), &wanted, 0, values, n, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", o->name);
	if (o->summary)
		print_summary(cli, values, n, wanted.type);
	else
		output_bytes(cli->out, slice_of(values, n * grib_type_size(wanted.type)));
	return 0;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct times {
	double least, median;
};

static struct times times_of(double *each, size_t n)
{
	qsort(each, n, sizeof(*each), compare_doubles);
	return (struct times){each[0], n % 2 ? each[n / 2] : (each[n / 2 - 1] + each[n / 2]) / 2};
}

static int measure(struct slice message, const struct grib_decode_options *options, void *values,
		   uint64_t n, double *each, size_t repeat, struct error *err)
{
	for (size_t i = 0; i < BENCH_WARM_UP + repeat; i++) {
		double begin = seconds();
		int r = grib_decode(message, options, values, n, err);

		if (r < 0)
			return r;
		if (i >= BENCH_WARM_UP)
			each[i - BENCH_WARM_UP] = seconds() - begin;
	}
	return 0;
}

/* What writing the output once costs. */
static void measure_floor(void *values, size_t size, double *each, size_t repeat)
{
	for (size_t i = 0; i < repeat; i++) {
		double begin = seconds();

		memset(values, (int)i, size);
		/* Or the compiler would see that nobody reads it. */
		__asm__ volatile("" : : "r"(values) : "memory");
		each[i] = seconds() - begin;
	}
}

static void print_times(struct cli *cli, const struct decode *o, const struct grib_info *info,
			uint64_t n, bool direct, size_t repeat, struct times times,
			struct times least)
{
	char min[32], median[32], floor[32];

	text_repr(times.least, min);
	text_repr(times.median, median);
	text_repr(least.least, floor);
	if (o->json)
		output_printf(cli->out,
			      "{\"packing\":\"%s\",\"n_points\":%" PRIu64
			      ",\"decoder\":\"%s\",\"type\":\"%s\",\"repeat\":%zu,"
			      "\"seconds_min\":%s,\"seconds_median\":%s,\"seconds_memset\":%s}\n",
			      info->packing, n, direct ? "direct" : "eccodes", type_names[o->type],
			      repeat, min, median, floor);
	else
		output_printf(cli->out,
			      "%s, %" PRIu64 " points, %s, %s: min %.3f ms, median %.3f ms, %.1f "
			      "times writing the output once\n",
			      info->packing, n, direct ? "direct" : "eccodes", type_names[o->type],
			      times.least * 1e3, times.median * 1e3, times.least / least.least);
}

static int run_bench(struct cli *cli, const void *options, struct error *err)
{
	const struct decode *o = options;
	struct grib_decode_options wanted = options_of(o);
	CLEANUP(buf_done) struct buf message = BUF_INIT(0);
	size_t repeat = o->repeat.given ? (size_t)o->repeat.value : BENCH_REPEAT;
	CLEANUP(freep) double *each = NULL;
	CLEANUP(freep) void *values = NULL;
	struct times times, least;
	struct grib_info info;
	uint64_t n = 0;
	int r;

	r = check_decode(o, err);
	if (r < 0)
		return r;
	if (repeat < 15 || repeat > 100000)
		return error_set(err, ERR_ARGUMENT, "--repeat is from 15 to 100000");
	r = read_message(o, &message, err);
	if (r < 0)
		return r;
	r = grib_inspect(buf_slice(&message), &info, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", o->name);
	r = allocate_values(buf_slice(&message), &wanted, &values, &n, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", o->name);
	each = calloc(repeat, sizeof(*each));
	if (!each)
		return error_memory(err);
	measure_floor(values, n * grib_type_size(wanted.type), each, repeat);
	least = times_of(each, repeat);
	r = measure(buf_slice(&message), &wanted, values, n, each, repeat, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", o->name);
	times = times_of(each, repeat);
	print_times(cli, o, &info, n, !grib_needs_eccodes(buf_slice(&message), &wanted), repeat,
		    times, least);
	return 0;
}

static const struct cli_command commands[] = {
	{.name = "scan",
	 .help = "list the messages of a file",
	 .options = scan_options,
	 .size = sizeof(struct scan),
	 .run = run_scan},
	{.name = "decode",
	 .help = "write the values of one message, or describe them",
	 .options = decode_options,
	 .size = sizeof(struct decode),
	 .run = run_decode},
	{.name = "bench",
	 .help = "measure how long decoding one message takes",
	 .options = bench_options,
	 .size = sizeof(struct decode),
	 .run = run_bench},
	{.name = NULL},
};

const struct cli_command cmd_grib = {
	.name = "grib",
	.help = "GRIB files and messages",
	.commands = commands,
};
