/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regex.h"

#include <stdio.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/text.h"

#define PATTERN_MAX 16384
#define MATCH_LIMIT 100000
#define DEPTH_LIMIT 1000
#define HEAP_LIMIT_KIB 4096

struct regex {
	pcre2_code *code;
	pcre2_match_context *limits;
};

/*
 * Translation
 *
 * Walks a pattern in Rust's syntax and writes it in PCRE2's.  Only what is known to mean the same
 * in both passes; where one of them gives a construct another meaning (possessive quantifiers,
 * classes in classes, \v ...) it is rewritten or refused, and so is all that Rust does not have.
 */

struct translator {
	struct slice pattern;
	size_t at;
	bool caseless; /* somewhere */
	bool property; /* somewhere */
	struct buf *out;
	struct error *err;
};

static int refuse(struct translator *tr, size_t at, const char *cause)
{
	return error_set(tr->err, ERR_FORMAT, "pattern '%.*s': byte %zu: %s",
			 SLICE_SHOW(tr->pattern), at, cause);
}

/* The byte @ahead from here, or 0 beyond the end. */
static uint8_t peek(const struct translator *tr, size_t ahead)
{
	size_t at = tr->at + ahead;

	return at < tr->pattern.size ? tr->pattern.data[at] : 0;
}

static bool done(const struct translator *tr)
{
	return tr->at >= tr->pattern.size;
}

static bool is_one_of(uint8_t c, const char *bytes)
{
	return c && strchr(bytes, c);
}

/* Copies @n bytes of the pattern. */
static int copy(struct translator *tr, size_t n)
{
	struct slice bytes = slice_sub(tr->pattern, tr->at, n);

	tr->at += n;
	return buf_append_slice(tr->out, bytes, tr->err);
}

/* Writes @text in place of @n bytes of the pattern. */
static int replace(struct translator *tr, size_t n, const char *text)
{
	tr->at += n;
	return buf_append_text(tr->out, text, tr->err);
}

static size_t count_of(const struct translator *tr, size_t ahead, const char *bytes)
{
	size_t n = 0;

	while (is_one_of(peek(tr, ahead + n), bytes))
		n++;
	return n;
}

#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* \xHH, \uHHHH, \UHHHHHHHH, or any of the three with {H...}. */
static int translate_code_point(struct translator *tr)
{
	size_t n = peek(tr, 1) == 'x' ? 2 : peek(tr, 1) == 'u' ? 4 : 8;
	bool braced = peek(tr, 2) == '{';
	size_t digits = count_of(tr, 2 + braced, HEX);
	int r;

	if (braced)
		n = digits && digits <= 8 && peek(tr, 3 + digits) == '}' ? digits : 0;
	if (n == 0 || digits < n)
		return refuse(tr, tr->at, "expected hex digits");
	tr->at += 2 + braced;
	r = buf_printf(tr->out, tr->err, "\\x{%.*s}", (int)n,
		       (const char *)tr->pattern.data + tr->at);
	tr->at += n + braced;
	return r;
}

/* \pL or \p{Name}; PCRE2 knows whether there is such a property. */
static int translate_property(struct translator *tr)
{
	size_t n = count_of(tr, 3, LETTERS DIGITS "_&");

	tr->property = true;
	if (is_one_of(peek(tr, 2), LETTERS))
		return copy(tr, 3);
	if (peek(tr, 2) != '{' || n == 0 || peek(tr, 3 + n) != '}')
		return refuse(tr, tr->at, "expected the name of a property");
	return copy(tr, 4 + n);
}

static int translate_escape(struct translator *tr, bool in_class)
{
	uint8_t c = peek(tr, 1);

	if (is_one_of(c, "xuU"))
		return translate_code_point(tr);
	if (is_one_of(c, "pP"))
		return translate_property(tr);
	if (c == 'v')
		return replace(tr, 2, "\\x0b");
	if (is_one_of(c, "dDsSwWaftnr") || is_one_of(c, " !\"#$%&'()*+,-./:;=?@[\\]^_`{|}~"))
		return copy(tr, 2);
	if (!in_class && (is_one_of(c, "Az") || (is_one_of(c, "bB") && peek(tr, 2) != '{')))
		return copy(tr, 2);
	if (!in_class && is_one_of(c, DIGITS "gk"))
		return refuse(tr, tr->at, "back-references are not supported");
	return refuse(tr, tr->at, "unknown escape");
}

/*
 * In Rust these are ASCII, in PCRE2 with Unicode properties they are not.  After a hyphen Rust
 * reads the bracket as the end of a range.
 */
static int translate_posix_class(struct translator *tr)
{
	static const struct {
		const char *name, *ranges;
	} classes[] = {
		{"[:alnum:]", "0-9A-Za-z"},
		{"[:alpha:]", "A-Za-z"},
		{"[:ascii:]", "\\x00-\\x7f"},
		{"[:blank:]", "\\t "},
		{"[:cntrl:]", "\\x00-\\x1f\\x7f"},
		{"[:digit:]", "0-9"},
		{"[:graph:]", "!-~"},
		{"[:lower:]", "a-z"},
		{"[:print:]", " -~"},
		{"[:punct:]", "!-\\/:-@\\[-`{-~"},
		{"[:space:]", "\\t\\n\\x0b\\f\\r "},
		{"[:upper:]", "A-Z"},
		{"[:word:]", "0-9A-Za-z_"},
		{"[:xdigit:]", "0-9A-Fa-f"},
	};

	for (size_t i = 0; i < ARRAY_LEN(classes) && tr->pattern.data[tr->at - 1] != '-'; i++) {
		struct slice name = slice_text(classes[i].name);

		if (slice_equal(slice_sub(tr->pattern, tr->at, name.size), name))
			return replace(tr, name.size, classes[i].ranges);
	}
	return refuse(tr, tr->at, "classes in classes are not supported");
}

static int translate_class_item(struct translator *tr)
{
	uint8_t c = peek(tr, 0);

	if (c == '\\')
		return translate_escape(tr, true);
	if (c == '[')
		return translate_posix_class(tr);
	if (is_one_of(c, "&-~") && peek(tr, 1) == c)
		return refuse(tr, tr->at, "set operations are not supported");
	return copy(tr, 1);
}

static int translate_class(struct translator *tr)
{
	size_t start = tr->at;
	size_t head = peek(tr, 1) == '^' ? 2 : 1;
	int r;

	/* A bracket that comes first stands for itself. */
	head += peek(tr, head) == ']';
	r = copy(tr, head);
	while (r == 0 && !done(tr) && peek(tr, 0) != ']')
		r = translate_class_item(tr);
	if (r < 0)
		return r;
	if (done(tr))
		return refuse(tr, start, "class without end");
	return copy(tr, 1);
}

/* After "(?": flags up to ')' or ':'. */
static int translate_flags(struct translator *tr)
{
	size_t n = count_of(tr, 2, "imsU-");

	if (n > 0 && is_one_of(peek(tr, 2 + n), "):")) {
		tr->caseless |= count_of(tr, 2, "msU-") < n;
		return copy(tr, 3 + n);
	}
	if (is_one_of(peek(tr, 2), "=!") || (peek(tr, 2) == '<' && is_one_of(peek(tr, 3), "=!")))
		return refuse(tr, tr->at, "look-around is not supported");
	return refuse(tr, tr->at, "this kind of group is not supported");
}

/* After "(?P<" or "(?<", of @head bytes. */
static int translate_named_group(struct translator *tr, size_t head)
{
	size_t n = count_of(tr, head, LETTERS DIGITS "_");

	if (n == 0 || peek(tr, head + n) != '>')
		return refuse(tr, tr->at, "expected the name of a group");
	return copy(tr, head + n + 1);
}

static int translate_group(struct translator *tr)
{
	if (peek(tr, 1) == '*')
		return refuse(tr, tr->at + 1, "nothing to repeat");
	if (peek(tr, 1) != '?')
		return copy(tr, 1);
	if (peek(tr, 2) == ':')
		return copy(tr, 3);
	if (peek(tr, 2) == 'P' && peek(tr, 3) == '<')
		return translate_named_group(tr, 4);
	if (peek(tr, 2) == '<' && !is_one_of(peek(tr, 3), "=!"))
		return translate_named_group(tr, 3);
	return translate_flags(tr);
}

/* Bytes of {n}, {n,} or {n,m} here, or 0. */
static size_t braces_size(const struct translator *tr)
{
	size_t n = 1 + count_of(tr, 1, DIGITS);

	if (n == 1)
		return 0;
	if (peek(tr, n) == ',') {
		n++;
		n += count_of(tr, n, DIGITS);
	}
	return peek(tr, n) == '}' ? n + 1 : 0;
}

/* A second quantifier repeats the first in Rust and makes it possessive in PCRE2, or is refused. */
static int translate_quantifier(struct translator *tr)
{
	size_t n = peek(tr, 0) == '{' ? braces_size(tr) : 1;
	int r;

	if (n == 0)
		return refuse(tr, tr->at, "expected a repetition such as {2,3}");
	r = copy(tr, n + (peek(tr, n) == '?'));
	if (r == 0 && is_one_of(peek(tr, 0), "*+?{"))
		return refuse(tr, tr->at, "a repetition of a repetition needs a group");
	return r;
}

static int translate_item(struct translator *tr)
{
	uint8_t c = peek(tr, 0);

	if (c == '\\')
		return translate_escape(tr, false);
	if (c == '[')
		return translate_class(tr);
	if (c == '(')
		return translate_group(tr);
	if (is_one_of(c, "*+?{"))
		return translate_quantifier(tr);
	return copy(tr, 1);
}

static int translate(struct slice pattern, struct buf *out, struct error *err)
{
	struct translator tr = {.pattern = pattern, .out = out, .err = err};
	int r = 0;

	while (r == 0 && !done(&tr))
		r = translate_item(&tr);
	/* In Rust a lower case letter then has the property of its upper case. */
	if (r == 0 && tr.caseless && tr.property)
		return refuse(&tr, 0, "properties without regard to case are not supported");
	return r;
}

static pcre2_compile_context *compile_context(void)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);

	if (context)
		pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	return context;
}

/* Unicode classes, '$' at the very end, '^' after every line feed: as Rust has them. */
#define COMPILE_OPTIONS                                                        \
	(PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX | \
	 PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE)

static int compile(struct regex *regex, struct slice pattern, struct slice translated,
		   struct error *err)
{
	pcre2_compile_context *context = compile_context();
	PCRE2_UCHAR cause[120];
	PCRE2_SIZE offset;
	int code;

	if (!context)
		return error_memory(err);
	regex->code = pcre2_compile(translated.data ? translated.data : (PCRE2_SPTR) "",
				    translated.size, COMPILE_OPTIONS, &code, &offset, context);
	pcre2_compile_context_free(context);
	if (regex->code)
		return 0;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return error_memory(err);
	pcre2_get_error_message(code, cause, sizeof(cause));
	return error_set(err, ERR_FORMAT, "pattern '%.*s': byte %zu: %s", SLICE_SHOW(pattern),
			 (size_t)offset, (const char *)cause);
}

int regex_new(struct slice pattern, struct regex **ret_regex, struct error *err)
{
	CLEANUP(buf_done) struct buf translated = BUF_INIT(4 * PATTERN_MAX);
	CLEANUP(regex_freep) struct regex *regex = NULL;
	int r;

	if (pattern.size > PATTERN_MAX)
		return error_set(err, ERR_FORMAT, "pattern of %zu bytes", pattern.size);
	r = translate(pattern, &translated, err);
	if (r < 0)
		return r;
	regex = calloc(1, sizeof(*regex));
	if (!regex)
		return error_memory(err);
	regex->limits = pcre2_match_context_create(NULL);
	if (!regex->limits)
		return error_memory(err);
	pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(regex->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(regex->limits, HEAP_LIMIT_KIB);
	r = compile(regex, pattern, buf_slice(&translated), err);
	if (r < 0)
		return r;
	*ret_regex = TAKE(regex);
	return 0;
}

struct regex *regex_free(struct regex *regex)
{
	if (!regex)
		return NULL;
	pcre2_code_free(regex->code);
	pcre2_match_context_free(regex->limits);
	free(regex);
	return NULL;
}

int regex_search(const struct regex *regex, struct slice text, bool *ret_found, struct error *err)
{
	pcre2_match_data *match = pcre2_match_data_create(1, NULL);
	PCRE2_UCHAR cause[120];
	int n;

	if (!match)
		return error_memory(err);
	n = pcre2_match(regex->code, text.data ? text.data : (PCRE2_SPTR) "", text.size, 0, 0,
			match, regex->limits);
	pcre2_match_data_free(match);
	if (n == PCRE2_ERROR_NOMEMORY)
		return error_memory(err);
	if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
		pcre2_get_error_message(n, cause, sizeof(cause));
		return error_set(err, ERR_FORMAT, "cannot search '%.*s': %s", SLICE_SHOW(text),
				 (const char *)cause);
	}
	*ret_found = n >= 0;
	return 0;
}
