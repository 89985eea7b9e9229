/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"

/* An option of the table or of one of its groups, and the member that it fills. */
struct slot {
	const struct cli_option *option;
	void *member;
	bool given;
};

DEFINE_VEC(slots, struct slot);

struct parser {
	struct slots slots;
	const struct cli_option *options;
	char *target;
	char *const *argv; /* what is left */
	int argc;
	struct arena *memory;
	struct error *err;
};

static int collect(struct slots *slots, const struct cli_option *options, char *target,
		   struct error *err)
{
	int r = 0;

	for (; r == 0 && options->kind != CLI_END; options++) {
		char *member = target + options->offset;

		if (options->kind == CLI_GROUP)
			r = collect(slots, options->group->options, member, err);
		else
			r = slots_push(slots, (struct slot){options, member, false}, err);
	}
	return r;
}

static bool is_argument(const struct cli_option *option)
{
	return option->kind == CLI_ARGUMENT || option->kind == CLI_ARGUMENTS;
}

static bool takes_value(const struct cli_option *option)
{
	return option->kind != CLI_FLAG && option->kind != CLI_COUNT;
}

static bool may_repeat(const struct cli_option *option)
{
	return option->kind == CLI_FLAG || option->kind == CLI_COUNT || option->kind == CLI_LIST ||
	       option->kind == CLI_CALL || option->kind == CLI_SUBOPTIONS;
}

/* Values */

int cli_list_add(struct cli_list *list, const char *text, struct arena *memory, struct error *err)
{
	/* The array doubles whenever its size is a power of two. */
	if ((list->n & (list->n - 1)) == 0) {
		size_t room = list->n ? 2 * list->n : 1;
		const char **items = arena_zalloc(memory, room, sizeof(*items), err);

		if (!items)
			return ERR_MEMORY;
		if (list->n)
			memcpy(items, list->items, list->n * sizeof(*items));
		list->items = items;
	}
	list->items[list->n++] = text;
	return 0;
}

static int read_u64(enum cli_kind kind, struct cli_u64 *number, const char *text, struct error *err)
{
	int r;

	if (kind == CLI_SIZE)
		r = text_size(slice_text(text), &number->value, err);
	else
		r = text_u64(slice_text(text), &number->value, err);
	number->given = r == 0;
	return r;
}

static int read_i64(enum cli_kind kind, struct cli_i64 *number, const char *text, struct error *err)
{
	int r;

	if (kind == CLI_TIME)
		r = time_parse(text, time_now(), &number->value, err);
	else if (kind == CLI_DURATION)
		r = duration_parse(text, &number->value, err);
	else
		r = text_i64(slice_text(text), &number->value, err);
	number->given = r == 0;
	return r;
}

static int read_double(struct cli_double *number, const char *text, struct error *err)
{
	int r = text_double(slice_text(text), &number->value, err);

	number->given = r == 0;
	return r;
}

static int join(struct buf *out, const char *const *names, const char *separator, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && names[i]; i++) {
		if (i > 0)
			r = buf_append_text(out, separator, err);
		if (r == 0)
			r = buf_append_text(out, names[i], err);
	}
	return r;
}

static int read_choice(const char *const *choices, void *member, const char *text,
		       struct error *err)
{
	CLEANUP(buf_done) struct buf names = BUF_INIT(BUF_NO_LIMIT);
	int r;

	for (int i = 0; choices[i]; i++) {
		if (strcmp(choices[i], text) == 0) {
			*(int *)member = i;
			return 0;
		}
	}
	r = join(&names, choices, ", ", err);
	if (r < 0)
		return r;
	return error_set(err, ERR_ARGUMENT, "'%s' is none of %.*s", text,
			 SLICE_SHOW(buf_slice(&names)));
}

static int read_suboptions(struct parser *parser, struct slot *slot, const char *text);

/* @text is NULL where there is no value. */
static int read_value(struct parser *parser, struct slot *slot, const char *text)
{
	const struct cli_option *option = slot->option;

	switch (option->kind) {
	case CLI_FLAG:
		*(bool *)slot->member = true;
		return 0;
	case CLI_COUNT:
		++*(int *)slot->member;
		return 0;
	case CLI_TEXT:
	case CLI_ARGUMENT:
		*(const char **)slot->member = text;
		return 0;
	case CLI_LIST:
	case CLI_ARGUMENTS:
		return cli_list_add(slot->member, text, parser->memory, parser->err);
	case CLI_U64:
	case CLI_SIZE:
		return read_u64(option->kind, slot->member, text, parser->err);
	case CLI_I64:
	case CLI_TIME:
	case CLI_DURATION:
		return read_i64(option->kind, slot->member, text, parser->err);
	case CLI_DOUBLE:
		return read_double(slot->member, text, parser->err);
	case CLI_CHOICE:
		return read_choice(option->choices, slot->member, text, parser->err);
	case CLI_CALL:
		return option->read(slot->member, text, parser->memory, parser->err);
	case CLI_SUBOPTIONS:
		return read_suboptions(parser, slot, text);
	default:
		return 0;
	}
}

/* Options */

/* "--name", or "-n" if that is all there is. */
static const char *shown_name(const struct cli_option *option, char text[80])
{
	if (option->name)
		snprintf(text, 80, "--%s", option->name);
	else
		snprintf(text, 80, "-%c", option->letter);
	return text;
}

static int read_option(struct parser *parser, struct slot *slot, const char *value)
{
	char name[80];
	int r;

	shown_name(slot->option, name);
	if (slot->given && !may_repeat(slot->option))
		return error_set(parser->err, ERR_ARGUMENT, "option %s is given twice", name);
	slot->given = true;
	r = read_value(parser, slot, value);
	if (r == ERR_ARGUMENT && slot->option->kind != CLI_SUBOPTIONS)
		return error_prefix(parser->err, "option %s", name);
	return r;
}

static struct slot *find_long(struct parser *parser, struct slice name)
{
	for (size_t i = 0; i < parser->slots.n; i++) {
		const struct cli_option *option = parser->slots.items[i].option;

		if (!is_argument(option) && option->name && slice_is(name, option->name))
			return &parser->slots.items[i];
	}
	return NULL;
}

static struct slot *find_letter(struct parser *parser, char letter)
{
	for (size_t i = 0; i < parser->slots.n; i++) {
		if (parser->slots.items[i].option->letter == letter)
			return &parser->slots.items[i];
	}
	return NULL;
}

/* Number of single-character edits that make @b of @a; at most a name's length of work a row. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[2][64] = {0};
	size_t n = strlen(b);

	if (n >= ARRAY_LEN(rows[0]))
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t *above = rows[i & 1];
		size_t *row = rows[~i & 1];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t change = above[j] + (a[i] != b[j]);
			size_t shift = (above[j + 1] < row[j] ? above[j + 1] : row[j]) + 1;

			row[j + 1] = change < shift ? change : shift;
		}
	}
	return rows[strlen(a) & 1][n];
}

const char *cli_nearest(const char *name, const char *const *names)
{
	size_t best = strlen(name) < 6 ? 2 : 3; /* a distance from here on is no slip */
	const char *nearest = NULL;

	for (; *names; names++) {
		size_t distance = edit_distance(name, *names);

		if (distance < best) {
			best = distance;
			nearest = *names;
		}
	}
	return nearest;
}

static int unknown_option(struct parser *parser, struct slice given)
{
	CLEANUP(freep) char *name = slice_dup(given, parser->err);
	struct cli_list names = {0};
	const char *nearest;
	int r = 0;

	if (!name)
		return ERR_MEMORY;
	for (size_t i = 0; r == 0 && i < parser->slots.n; i++) {
		const struct cli_option *option = parser->slots.items[i].option;

		if (!is_argument(option) && option->name)
			r = cli_list_add(&names, option->name, parser->memory, parser->err);
	}
	if (r == 0)
		r = cli_list_add(&names, NULL, parser->memory, parser->err);
	if (r < 0)
		return r;
	nearest = cli_nearest(name, names.items);
	if (nearest)
		return error_set(parser->err, ERR_ARGUMENT,
				 "unknown option '--%s', did you mean --%s?", name, nearest);
	return error_set(parser->err, ERR_ARGUMENT, "unknown option '--%s'", name);
}

static bool is_value(const char *text)
{
	return text[0] != '-' || text[1] == '\0' || (text[1] >= '0' && text[1] <= '9') ||
	       (text[1] == '.' && text[2] >= '0' && text[2] <= '9');
}

/* Reads an option whose value, unless @joined to it, is the next argument. */
static int read_with_next(struct parser *parser, struct slot *slot, const char *joined)
{
	const struct cli_option *option = slot->option;
	char name[80];

	shown_name(option, name);
	if (!takes_value(option) && joined)
		return error_set(parser->err, ERR_ARGUMENT, "option %s takes no value", name);
	if (!takes_value(option) || joined)
		return read_option(parser, slot, joined);
	if (option->alone)
		return read_option(parser, slot, option->alone);
	if (parser->argc == 0)
		return error_set(parser->err, ERR_ARGUMENT, "option %s needs a value", name);
	if (!is_value(parser->argv[0]))
		return error_set(parser->err, ERR_ARGUMENT,
				 "option %s needs a value (with '=' if it begins with '-')", name);
	parser->argc--;
	return read_option(parser, slot, *parser->argv++);
}

/* "name" or "name=value". */
static int read_long(struct parser *parser, const char *text)
{
	const char *equals = strchr(text, '=');
	struct slice name = slice_of(text, equals ? (size_t)(equals - text) : strlen(text));
	struct slot *slot = find_long(parser, name);

	if (!slot)
		return unknown_option(parser, name);
	return read_with_next(parser, slot, equals ? equals + 1 : NULL);
}

/* Letters of flags; the first that takes a value has the rest for it. */
static int read_letters(struct parser *parser, const char *letters)
{
	int r = 0;

	while (r == 0 && *letters) {
		struct slot *slot = find_letter(parser, *letters);

		if (!slot)
			return error_set(parser->err, ERR_ARGUMENT, "unknown option '-%c'",
					 *letters);
		letters++;
		if (takes_value(slot->option))
			return read_with_next(parser, slot, *letters ? letters : NULL);
		r = read_option(parser, slot, NULL);
	}
	return r;
}

/* Cuts the first part off at a comma, in place; backslashes in front of others go. */
static char *next_part(char **rest)
{
	char *part = *rest;
	char *to = part;
	char *from;

	for (from = part; *from && *from != ','; from++) {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	*rest = *from ? from + 1 : from;
	*to = '\0';
	return part;
}

static int read_part(struct parser *parser, struct slot *list, char *part)
{
	char *equals = strchr(part, '=');
	struct slice name = slice_of(part, equals ? (size_t)(equals - part) : strlen(part));
	struct slot *slot = find_long(parser, name);

	/* One within another could go on without end. */
	if (!slot || slot->option->kind == CLI_SUBOPTIONS)
		return cli_list_add(list->member, part, parser->memory, parser->err);
	if (takes_value(slot->option) && !equals && !slot->option->alone)
		return error_set(parser->err, ERR_ARGUMENT, "option -%c %s needs a value",
				 list->option->letter, part);
	return read_with_next(parser, slot, equals ? equals + 1 : NULL);
}

static int read_suboptions(struct parser *parser, struct slot *slot, const char *text)
{
	char *rest = arena_dup(parser->memory, slice_text(text), parser->err);
	int r = 0;

	if (!rest)
		return ERR_MEMORY;
	while (r == 0 && *rest) {
		char *part = next_part(&rest);

		if (*part)
			r = read_part(parser, slot, part);
	}
	return r;
}

static int read_argument(struct parser *parser, const char *text)
{
	for (size_t i = 0; i < parser->slots.n; i++) {
		struct slot *slot = &parser->slots.items[i];

		if (!is_argument(slot->option))
			continue;
		if (slot->given && slot->option->kind == CLI_ARGUMENT)
			continue;
		slot->given = true;
		return read_value(parser, slot, text);
	}
	return error_set(parser->err, ERR_ARGUMENT, "unexpected argument '%s'", text);
}

static int read_all(struct parser *parser)
{
	bool only_arguments = false;
	int r = 0;

	while (r == 0 && parser->argc > 0) {
		const char *text = *parser->argv++;

		parser->argc--;
		if (only_arguments || is_value(text))
			r = read_argument(parser, text);
		else if (strcmp(text, "--") == 0)
			only_arguments = true;
		else if (text[1] == '-')
			r = read_long(parser, text + 2);
		else
			r = read_letters(parser, text + 1);
	}
	return r;
}

static int check_required(struct parser *parser)
{
	for (size_t i = 0; i < parser->slots.n; i++) {
		const struct slot *slot = &parser->slots.items[i];
		char name[80];

		if (!slot->option->required || slot->given)
			continue;
		if (is_argument(slot->option))
			return error_set(parser->err, ERR_ARGUMENT, "argument %s is missing",
					 slot->option->name);
		return error_set(parser->err, ERR_ARGUMENT, "option %s is missing",
				 shown_name(slot->option, name));
	}
	return 0;
}

static int check_groups(const struct cli_option *options, const char *target, struct error *err)
{
	int r = 0;

	for (; r == 0 && options->kind != CLI_END; options++) {
		const struct cli_group *group = options->group;
		const char *member = target + options->offset;

		if (options->kind != CLI_GROUP)
			continue;
		r = check_groups(group->options, member, err);
		if (r == 0 && group->check)
			r = group->check(member, err);
	}
	return r;
}

static bool asks_for_help(struct parser *parser)
{
	for (int i = 0; i < parser->argc && strcmp(parser->argv[i], "--") != 0; i++) {
		if (strcmp(parser->argv[i], "--help") == 0)
			return true;
		if (strcmp(parser->argv[i], "-h") == 0 && !find_letter(parser, 'h'))
			return true;
	}
	return false;
}

static int parse(struct parser *parser)
{
	int r;

	r = collect(&parser->slots, parser->options, parser->target, parser->err);
	if (r < 0)
		return r;
	if (asks_for_help(parser))
		return CLI_HELP;
	r = read_all(parser);
	if (r < 0)
		return r;
	r = check_required(parser);
	if (r < 0)
		return r;
	return check_groups(parser->options, parser->target, parser->err);
}

int cli_parse(const struct cli_option *options, void *target, int argc, char *const *argv,
	      struct arena *memory, struct error *err)
{
	struct parser parser = {
		.options = options,
		.target = target,
		.argc = argc,
		.argv = argv,
		.memory = memory,
		.err = err,
	};
	int r = parse(&parser);

	slots_done(&parser.slots);
	return r;
}

/* Help */

static bool has_options(const struct cli_option *options)
{
	for (; options->kind != CLI_END; options++) {
		if (!is_argument(options))
			return true;
	}
	return false;
}

static int print_argument(const struct cli_option *option, struct buf *out, struct error *err)
{
	const char *more = option->kind == CLI_ARGUMENTS ? "..." : "";

	return buf_printf(out, err, option->required ? " %s%s" : " [%s%s]", option->name, more);
}

int cli_usage(const struct cli_option *options, struct buf *out, struct error *err)
{
	int r = has_options(options) ? buf_append_text(out, " [OPTION]...", err) : 0;

	for (; r == 0 && options->kind != CLI_END; options++) {
		if (is_argument(options))
			r = print_argument(options, out, err);
	}
	return r;
}

static int print_value(const struct cli_option *option, struct buf *out, struct error *err)
{
	const char *separator = option->alone ? "[=" : option->name ? " " : "";
	int r;

	if (!takes_value(option))
		return 0;
	r = buf_append_text(out, separator, err);
	if (r < 0)
		return r;
	if (option->choices && !option->value)
		r = join(out, option->choices, "|", err);
	else
		r = buf_append_text(out, option->value ? option->value : "VALUE", err);
	return r < 0 || !option->alone ? r : buf_append_text(out, "]", err);
}

#define HELP_COLUMN 34

/* "  -m, --message TEXT        what the commit says" */
static int print_option(const struct cli_option *option, struct buf *out, struct error *err)
{
	size_t start = out->size;
	size_t width;
	int r;

	if (option->letter && option->name)
		r = buf_printf(out, err, "  -%c, --%s", option->letter, option->name);
	else if (option->letter)
		r = buf_printf(out, err, "  -%c ", option->letter);
	else
		r = buf_printf(out, err, "      --%s", option->name);
	if (r == 0)
		r = print_value(option, out, err);
	if (r < 0)
		return r;
	width = text_width(slice_sub(buf_slice(out), start, SIZE_MAX));
	return buf_printf(out, err, "%*s%s\n", width < HELP_COLUMN ? (int)(HELP_COLUMN - width) : 2,
			  "", option->help ? option->help : "");
}

/* The options that stand in the table itself. */
static int describe_own(const struct cli_option *options, const char *title, struct buf *out,
			struct error *err)
{
	bool first = true;
	int r = 0;

	for (; r == 0 && options->kind != CLI_END; options++) {
		if (is_argument(options) || options->kind == CLI_GROUP)
			continue;
		if (first)
			r = buf_printf(out, err, "\n%s:\n", title);
		first = false;
		if (r == 0)
			r = print_option(options, out, err);
	}
	return r;
}

static int describe(const struct cli_option *options, const char *title, struct buf *out,
		    struct error *err)
{
	int r = describe_own(options, title, out, err);

	for (; r == 0 && options->kind != CLI_END; options++) {
		if (options->kind == CLI_GROUP)
			r = describe(options->group->options, options->group->title, out, err);
	}
	return r;
}

int cli_describe(const struct cli_option *options, struct buf *out, struct error *err)
{
	return describe(options, "Options", out, err);
}
