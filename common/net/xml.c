/* SPDX-License-Identifier: Apache-2.0 */
#include "net/xml.h"

#include <expat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
	XML_DEPTH_MAX = 32,
	XML_PATH_MAX = 4096,
	XML_TEXT_MAX = 1024 * 1024,
};

struct xml_reader {
	XML_Parser parser;
	xml_fn each;
	void *argument;
	struct buf path;
	struct buf text[XML_DEPTH_MAX];
	size_t starts[XML_DEPTH_MAX]; /* of the path without each level */
	unsigned int depth;
	int result;
	struct error error;
};

static void xml_stop(struct xml_reader *reader, int result)
{
	reader->result = result;
	XML_StopParser(reader->parser, XML_FALSE);
}

static void XMLCALL xml_start(void *argument, const XML_Char *name, const XML_Char **attributes)
{
	struct xml_reader *reader = argument;
	struct error *err = &reader->error;
	int r = 0;

	(void)attributes;
	if (reader->depth == XML_DEPTH_MAX) {
		xml_stop(reader, error_set(err, ERR_FORMAT, "elements nested too deeply"));
		return;
	}
	reader->starts[reader->depth] = reader->path.size;
	reader->text[reader->depth] = BUF_INIT(XML_TEXT_MAX);
	reader->depth++;
	if (reader->path.size)
		r = buf_append_byte(&reader->path, '/', err);
	if (r == 0)
		r = buf_append_text(&reader->path, name, err);
	if (r < 0)
		xml_stop(reader, r);
}

static void XMLCALL xml_end(void *argument, const XML_Char *name)
{
	struct xml_reader *reader = argument;
	struct buf *text = &reader->text[--reader->depth];
	const char *path = buf_text(&reader->path, &reader->error);
	const char *content = buf_text(text, &reader->error);
	int r = ERR_MEMORY;

	(void)name;
	if (path && content)
		r = reader->each(reader->argument, path, content, &reader->error);
	buf_done(text);
	reader->path.size = reader->starts[reader->depth];
	if (r < 0)
		xml_stop(reader, r);
}

static void XMLCALL xml_characters(void *argument, const XML_Char *characters, int size)
{
	struct xml_reader *reader = argument;
	int r;

	if (!reader->depth)
		return;
	r = buf_append(&reader->text[reader->depth - 1], characters, (size_t)size, &reader->error);
	if (r < 0)
		xml_stop(reader, r);
}

static void XMLCALL xml_doctype(void *argument, const XML_Char *name, const XML_Char *system,
				const XML_Char *public, int has_internal)
{
	struct xml_reader *reader = argument;

	(void)name;
	(void)system;
	(void)public;
	(void)has_internal;
	xml_stop(reader, error_set(&reader->error, ERR_FORMAT, "a document type is not accepted"));
}

static int xml_run(struct xml_reader *reader, struct slice document)
{
	if (document.size > INT_MAX)
		return error_set(&reader->error, ERR_FORMAT, "document too large");
	XML_SetUserData(reader->parser, reader);
	XML_SetElementHandler(reader->parser, xml_start, xml_end);
	XML_SetCharacterDataHandler(reader->parser, xml_characters);
	XML_SetStartDoctypeDeclHandler(reader->parser, xml_doctype);
	if (XML_Parse(reader->parser, (const char *)document.data, (int)document.size, 1) ==
	    XML_STATUS_OK)
		return 0;
	if (reader->result < 0)
		return reader->result;
	return error_set(&reader->error, ERR_FORMAT, "XML, line %lu: %s",
			 (unsigned long)XML_GetCurrentLineNumber(reader->parser),
			 XML_ErrorString(XML_GetErrorCode(reader->parser)));
}

int xml_parse(struct slice document, xml_fn each, void *argument, struct error *err)
{
	struct xml_reader reader = {.each = each, .argument = argument};
	int r;

	reader.path = BUF_INIT(XML_PATH_MAX);
	reader.parser = XML_ParserCreate("UTF-8");
	if (!reader.parser)
		return error_memory(err);
	r = xml_run(&reader, document);
	XML_ParserFree(reader.parser);
	while (reader.depth > 0)
		buf_done(&reader.text[--reader.depth]);
	buf_done(&reader.path);
	if (r < 0 && err)
		*err = reader.error;
	return r;
}

struct xml_wanted {
	const char *path;
	char *text;
};

static int xml_take(void *argument, const char *path, const char *text, struct error *err)
{
	struct xml_wanted *wanted = argument;

	if (wanted->text || strcmp(path, wanted->path) != 0)
		return 0;
	wanted->text = text_dup(text, err);
	return wanted->text ? 0 : ERR_MEMORY;
}

char *xml_text(struct slice document, const char *path)
{
	struct xml_wanted wanted = {.path = path};
	struct error ignored = ERROR_INIT;

	/* What was found before the document turned bad still says something. */
	xml_parse(document, xml_take, &wanted, &ignored);
	return wanted.text;
}

int xml_escape(struct slice text, struct buf *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < text.size && r == 0; i++) {
		uint8_t c = text.data[i];

		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
			return error_set(err, ERR_ARGUMENT, "a name with byte %u cannot be sent",
					 c);
		if (c == '&')
			r = buf_append_text(out, "&amp;", err);
		else if (c == '<')
			r = buf_append_text(out, "&lt;", err);
		else if (c == '>')
			r = buf_append_text(out, "&gt;", err);
		else if (c == '"' || c < 0x20)
			r = buf_printf(out, err, "&#%u;", c);
		else
			r = buf_append_byte(out, c, err);
	}
	return r;
}
