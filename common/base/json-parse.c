/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parsing: one pass over the whole text, which everything else then relies on
 */

#include "base/json-internal.h"
#include "base/text.h"

#define JSON_DEPTH_MAX 128

struct parser {
	const uint8_t *start, *at, *end;
	struct error *err;
};

static int parse_value(struct parser *parser, unsigned int depth);

static int parse_error(struct parser *parser, const char *cause)
{
	return error_set(parser->err, ERR_FORMAT, "byte %td: %s", parser->at - parser->start,
			 parser->at == parser->end ? "ends too early" : cause);
}

static void skip_blanks(struct parser *parser)
{
	while (parser->at < parser->end && json_is_blank(*parser->at))
		parser->at++;
}

static bool take(struct parser *parser, uint8_t c)
{
	if (parser->at == parser->end || *parser->at != c)
		return false;
	parser->at++;
	return true;
}

static bool take_word(struct parser *parser, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, word, size) != 0)
		return false;
	parser->at += size;
	return true;
}

static bool take_digits(struct parser *parser)
{
	const uint8_t *first = parser->at;

	while (parser->at < parser->end && text_is_digit(*parser->at))
		parser->at++;
	return parser->at > first;
}

static int parse_number(struct parser *parser)
{
	take(parser, '-');
	if (take_word(parser, "Infinity"))
		return 0;
	if (!take(parser, '0') && !take_digits(parser))
		return parse_error(parser, "expected a digit");
	if (take(parser, '.') && !take_digits(parser))
		return parse_error(parser, "expected a digit");
	if (!take(parser, 'e') && !take(parser, 'E'))
		return 0;
	if (!take(parser, '-'))
		take(parser, '+');
	if (!take_digits(parser))
		return parse_error(parser, "expected a digit");
	return 0;
}

int32_t json_read_unit(const uint8_t *at, const uint8_t *end)
{
	int32_t unit = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = text_hex_value(at[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Stands after the 'u'. */
static int parse_unicode_escape(struct parser *parser)
{
	int32_t unit = json_read_unit(parser->at, parser->end);

	if (unit < 0)
		return parse_error(parser, "expected four hex digits");
	if (json_is_low_surrogate(unit))
		return parse_error(parser, "half of a surrogate pair");
	parser->at += 4;
	if (!json_is_high_surrogate(unit))
		return 0;
	if (!take_word(parser, "\\u") ||
	    !json_is_low_surrogate(json_read_unit(parser->at, parser->end)))
		return parse_error(parser, "half of a surrogate pair");
	parser->at += 4;
	return 0;
}

/* Stands after the backslash. */
static int parse_escape(struct parser *parser)
{
	if (take(parser, 'u'))
		return parse_unicode_escape(parser);
	if (parser->at == parser->end || !*parser->at || !strchr("\"\\/bfnrt", *parser->at))
		return parse_error(parser, "unknown escape");
	parser->at++;
	return 0;
}

/* One character that is neither plain nor the quote at the end. */
static int parse_character(struct parser *parser)
{
	struct slice rest = slice_of(parser->at, (size_t)(parser->end - parser->at));
	size_t n = text_utf8_length(rest);

	if (take(parser, '\\'))
		return parse_escape(parser);
	if (n == 1)
		return parse_error(parser, "control character in a string");
	if (n == 0)
		return parse_error(parser, "not UTF-8");
	parser->at += n;
	return 0;
}

static int parse_string(struct parser *parser)
{
	int r = 0;

	if (!take(parser, '"'))
		return parse_error(parser, "expected a string");
	while (r == 0) {
		while (parser->at < parser->end && json_is_plain(*parser->at))
			parser->at++;
		if (take(parser, '"'))
			break;
		r = parse_character(parser);
	}
	return r;
}

static int parse_array(struct parser *parser, unsigned int depth)
{
	int r;

	skip_blanks(parser);
	if (take(parser, ']'))
		return 0;
	do {
		r = parse_value(parser, depth);
		if (r < 0)
			return r;
	} while (take(parser, ','));
	return take(parser, ']') ? 0 : parse_error(parser, "expected ',' or ']'");
}

static int parse_member(struct parser *parser, unsigned int depth)
{
	int r;

	skip_blanks(parser);
	r = parse_string(parser);
	if (r < 0)
		return r;
	skip_blanks(parser);
	if (!take(parser, ':'))
		return parse_error(parser, "expected ':'");
	return parse_value(parser, depth);
}

static int parse_object(struct parser *parser, unsigned int depth)
{
	int r;

	skip_blanks(parser);
	if (take(parser, '}'))
		return 0;
	do {
		r = parse_member(parser, depth);
		if (r < 0)
			return r;
	} while (take(parser, ','));
	return take(parser, '}') ? 0 : parse_error(parser, "expected ',' or '}'");
}

static int parse_bare_value(struct parser *parser, unsigned int depth)
{
	if (parser->at < parser->end && *parser->at == '"')
		return parse_string(parser);
	if (depth == JSON_DEPTH_MAX && parser->at < parser->end &&
	    (*parser->at == '[' || *parser->at == '{'))
		return parse_error(parser, "more than 128 levels");
	if (take(parser, '{'))
		return parse_object(parser, depth + 1);
	if (take(parser, '['))
		return parse_array(parser, depth + 1);
	if (take_word(parser, "true") || take_word(parser, "false") || take_word(parser, "null") ||
	    take_word(parser, "NaN"))
		return 0;
	if (parser->at < parser->end &&
	    (text_is_digit(*parser->at) || *parser->at == '-' || *parser->at == 'I'))
		return parse_number(parser);
	return parse_error(parser, "expected a value");
}

/* The value and the blanks around it. */
static int parse_value(struct parser *parser, unsigned int depth)
{
	int r;

	skip_blanks(parser);
	r = parse_bare_value(parser, depth);
	if (r < 0)
		return r;
	skip_blanks(parser);
	return 0;
}

static struct slice trim(struct slice text)
{
	while (text.size && json_is_blank(text.data[text.size - 1]))
		text.size--;
	while (text.size && json_is_blank(text.data[0]))
		text = slice_sub(text, 1, SIZE_MAX);
	return text;
}

int json_parse(struct slice text, struct json *ret_value, struct error *err)
{
	struct parser parser = {.err = err};
	int r;

	if (text.size == 0)
		return error_set(err, ERR_FORMAT, "byte 0: ends too early");
	parser.start = parser.at = text.data;
	parser.end = text.data + text.size;
	r = parse_value(&parser, 0);
	if (r < 0)
		return r;
	if (parser.at < parser.end)
		return parse_error(&parser, "more after the value");
	ret_value->span = trim(text);
	ret_value->type = json_type_of(ret_value->span.data[0]);
	return 0;
}
