/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/view.h"

#define PLAIN_CODECS "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]"

/* Codecs that the usual readers of Zarr do not have. */
static const char *const decoded_codecs[] = {"gribberish", "scale_offset"};

static bool codecs_must_decode(const struct json *codecs)
{
	struct json key, entry, configuration, inner;
	struct slice name;

	JSON_EACH (codecs, &key, entry) {
		if (zarr_extension_parse(&entry, &name, &configuration, NULL) < 0)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(decoded_codecs); i++)
			if (slice_is(name, decoded_codecs[i]))
				return true;
		if (slice_is(name, "sharding_indexed") &&
		    json_get(&configuration, "codecs", &inner) == 0 && codecs_must_decode(&inner))
			return true;
	}
	return false;
}

bool zarr_must_decode(const struct zarr_metadata *array)
{
	return array->node == ZARR_ARRAY && codecs_must_decode(&array->codecs);
}

/* Must it be decoded, and can it? */
static int shown_decoded(const struct zarr_metadata *array, const struct zarr_registry *registry,
			 bool *ret_shown, struct error *err)
{
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	int r;

	*ret_shown = false;
	if (!zarr_must_decode(array))
		return 0;
	r = zarr_chain_new(array, registry, &chain, err);
	if (r == ERR_MEMORY)
		return r;
	*ret_shown = r == 0 && !zarr_chain_unknown_codec(chain);
	return 0;
}

/* Where the copy of a document stands: what comes before @from is in @out. */
struct splice {
	struct buf *out;
	const uint8_t *from;
	bool changed;
};

static int splice(struct splice *splice, const struct json *value, const char *text,
		  struct error *err)
{
	int r;

	r = buf_append(splice->out, splice->from, (size_t)(value->span.data - splice->from), err);
	if (r < 0)
		return r;
	splice->from = value->span.data + value->span.size;
	splice->changed = true;
	return buf_append_text(splice->out, text, err);
}

static int show_array(const struct zarr_metadata *array, const struct zarr_registry *registry,
		      struct splice *at, struct error *err)
{
	bool shown;
	int r;

	r = shown_decoded(array, registry, &shown, err);
	if (r < 0 || !shown)
		return r;
	return splice(at, &array->codecs, PLAIN_CODECS, err);
}

/* Members that are no documents we can read stay as they are: their readers will say so. */
static int show_consolidated(const struct json *root, const struct zarr_registry *registry,
			     struct splice *at, struct error *err)
{
	struct json documents, key, document;
	int r;

	if (json_path(root, &documents, "consolidated_metadata", "metadata", NULL) != 0 ||
	    documents.type != JSON_OBJECT)
		return 0;
	JSON_EACH (&documents, &key, document) {
		CLEANUP(zarr_metadata_freep) struct zarr_metadata *member = NULL;

		r = zarr_metadata_new(document.span, &member, err);
		if (r == ERR_MEMORY)
			return r;
		if (r < 0)
			continue;
		r = member->node == ZARR_ARRAY
			    ? show_array(member, registry, at, err)
			    : show_consolidated(&member->root, registry, at, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int zarr_decoded_document(const struct zarr_metadata *metadata,
			  const struct zarr_registry *registry, struct buf *out, bool *ret_changed,
			  struct error *err)
{
	struct slice document = metadata->document;
	struct splice at = {.out = out, .from = document.data};
	int r;

	r = metadata->node == ZARR_ARRAY ? show_array(metadata, registry, &at, err)
					 : show_consolidated(&metadata->root, registry, &at, err);
	if (r < 0)
		return r;
	r = buf_append(out, at.from, (size_t)(document.data + document.size - at.from), err);
	if (r == 0 && ret_changed)
		*ret_changed = at.changed;
	return r;
}
