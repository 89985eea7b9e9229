/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

#include "base/hash.h"
#include "zarr/codec.h"

#define SHARDS(shape, codecs, location)                                                     \
	"[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape         \
	",\"codecs\":[" codecs "],\"index_codecs\":[" BYTES_CODEC ",{\"name\":\"crc32c\"}]" \
	",\"index_location\":\"" location "\"}}]"

/*
 * Stored and decoded bytes of one chunk, as the public zarr package 3.4.2 (numcodecs 0.17.1) wrote
 * the array that numpy holds as "decoded".  Where @exact, our encoder gives the same bytes; what
 * compressors give depends on their versions.
 */
static struct golden_case {
	const char *name;
	const char *document;
	const char *decoded;
	const char *stored;
	bool exact;
} golden_cases[] = {
	{"bytes, big",
	 ARRAY_DOCUMENT("[2,3]", "[2,3]", "\"int16\"", "0",
			"[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]"),
	 "000001000200030004000500", "000000010002000300040005", true},
	{"bytes, big, complex",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"complex64\"", "[0.0,0.0]",
			"[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]"),
	 "0000803f0000004000000080000000bf", "3f8000004000000080000000bf000000", true},
	{"bytes by name alone", ARRAY_DOCUMENT("[3]", "[3]", "\"uint8\"", "0", "[\"bytes\"]"),
	 "010203", "010203", true},
	{"zstd",
	 ARRAY_DOCUMENT("[2,3]", "[2,3]", "\"float64\"", "\"NaN\"",
			"[" BYTES_CODEC
			",{\"name\":\"zstd\",\"configuration\":{\"level\":3,\"checksum\":true}}]"),
	 "0000000000000000000000000000f03f000000000000004000000000000008400000000000001040"
	 "0000000000001440",
	 "28b52ffd2430c50000580000f03f00400008101440050020cb4a5ed030c00607b0912213c0", false},
	{"gzip",
	 ARRAY_DOCUMENT("[2,3]", "[2,3]", "\"int16\"", "0",
			"[" BYTES_CODEC ",{\"name\":\"gzip\",\"configuration\":{\"level\":5}}]"),
	 "000001000200030004000500",
	 "1f8b080055df0d6b00ff636060646062606660616065000090bbb3a20c000000", false},
	{"blosc, stored as it is",
	 ARRAY_DOCUMENT("[12]", "[12]", "\"float64\"", "0.0",
			"[" BYTES_CODEC
			",{\"name\":\"blosc\",\"configuration\":{\"typesize\":8,\"cname\":"
			"\"zstd\",\"clevel\":3,\"shuffle\":\"shuffle\",\"blocksize\":0}}]"),
	 "0000000000000000000000000020ac40000000000020bc40000000000018c540000000000020cc40"
	 "000000000094d140000000000018d54000000000009cd840000000000020dc400000000000a4df40"
	 "000000000094e140000000000056e340",
	 "020193086000000060000000700000000000000000000000000000000020ac40000000000020bc40"
	 "000000000018c540000000000020cc40000000000094d140000000000018d54000000000009cd840"
	 "000000000020dc400000000000a4df40000000000094e140000000000056e340",
	 true},
	{"blosc, lz4 of bits",
	 ARRAY_DOCUMENT("[40]", "[40]", "\"int32\"", "0",
			"[" BYTES_CODEC
			",{\"name\":\"blosc\",\"configuration\":{\"typesize\":4,\"cname\":"
			"\"lz4\",\"clevel\":5,\"shuffle\":\"bitshuffle\",\"blocksize\":0}}]"),
	 "000000000100000002000000030000000400000005000000060000000700000008000000090000000a"
	 "0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013000000"
	 "1400000015000000160000001700000018000000190000001a0000001b0000001c0000001d000000"
	 "1e0000001f000000200000002100000022000000230000002400000025000000"
	 "2600000027000000",
	 "02013404a0000000a000000043000000140000002b00000010aa010010cc010010f00100ff0500ff00"
	 "ff000000ffff0000000000ff0000000000050065500000000000",
	 false},
	{"crc32c",
	 ARRAY_DOCUMENT("[2,3]", "[2,3]", "\"int16\"", "0",
			"[" BYTES_CODEC ",{\"name\":\"crc32c\"}]"),
	 "000001000200030004000500", "0000010002000300040005003437f860", true},
	{"transpose",
	 ARRAY_DOCUMENT("[2,3]", "[2,3]", "\"int16\"", "0",
			"[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," BYTES_CODEC
			"]"),
	 "000001000200030004000500", "000003000100040002000500", true},
	{"transpose of three",
	 ARRAY_DOCUMENT(
		 "[2,3,4]", "[2,3,4]", "\"int32\"", "0",
		 "[{\"name\":\"transpose\",\"configuration\":{\"order\":[2,0,1]}}," BYTES_CODEC
		 "]"),
	 "000000000100000002000000030000000400000005000000060000000700000008000000090000000a"
	 "0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013000000"
	 "14000000150000001600000017000000",
	 "0000000004000000080000000c0000001000000014000000010000000500000009000000"
	 "0d000000110000001500000002000000060000000a0000000e0000001200000016000000"
	 "03000000070000000b0000000f0000001300000017000000",
	 true},
	{"scale_offset, float64",
	 ARRAY_DOCUMENT(
		 "[4]", "[4]", "\"float64\"", "\"NaN\"",
		 "[{\"name\":\"scale_offset\",\"configuration\":{\"offset\":-273.15}}," BYTES_CODEC
		 "]"),
	 "0000000000000000a099999999d93540000000000000f87f66666666661271c0",
	 "66666666661271400000000000707240000000000000f87f0000000000000000", true},
	{"scale_offset, float32",
	 ARRAY_DOCUMENT(
		 "[3]", "[3]", "\"float32\"", "\"NaN\"",
		 "[{\"name\":\"scale_offset\",\"configuration\":{\"scale\":1000.0}}," BYTES_CODEC
		 "]"),
	 "6f12833acdcccc3d0000e040", "0000803f0000c84200c0da45", true},
	{"scale_offset, whole",
	 ARRAY_DOCUMENT("[3]", "[3]", "\"int16\"", "0",
			"[{\"name\":\"scale_offset\",\"configuration\":{\"offset\":10,\"scale\":5}}"
			"," BYTES_CODEC "]"),
	 "6400fdff0200", "c201bfffd8ff", true},
	{"shards, one missing",
	 ARRAY_DOCUMENT("[4,4]", "[4,4]", "\"uint16\"", "0", SHARDS("[2,2]", BYTES_CODEC, "end")),
	 "01000200000000000300040000000000050006000700080009000a000b000c00",
	 "01000200030004000500060009000a00070008000b000c0000000000000000000800000000000000"
	 "ffffffffffffffffffffffffffffffff080000000000000008000000000000001000000000000000"
	 "0800000000000000002c1579",
	 true},
	{"shards, index first",
	 ARRAY_DOCUMENT("[8]", "[8]", "\"uint8\"", "9",
			SHARDS("[4]", "{\"name\":\"bytes\"},{\"name\":\"crc32c\"}", "start")),
	 "0102030409090909",
	 "24000000000000000800000000000000ffffffffffffffffffffffffffffffff8e4329bc01020304"
	 "f48c3029",
	 true},
};

static struct zarr_chain *make_chain(const struct zarr_metadata *metadata)
{
	struct error err = ERROR_INIT;
	struct zarr_chain *chain = NULL;

	assert_ok(zarr_chain_new(metadata, NULL, &chain, &err), &err);
	assert_null(zarr_chain_unknown_codec(chain));
	return chain;
}

static void chunk_shape(const struct zarr_metadata *metadata, uint64_t *shape)
{
	zarr_grid_chunk_shape(&metadata->grid, (uint32_t[ZARR_DIMS_MAX]){0}, shape);
}

static void test_golden(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(buf_done) struct buf stored = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf ours = BUF_INIT(BUF_NO_LIMIT);
	const struct golden_case *c = *state;
	struct error err = ERROR_INIT;
	uint64_t shape[ZARR_DIMS_MAX];
	uint8_t out[512], again[512];
	size_t size;

	metadata = read_document(c->document);
	chain = make_chain(metadata);
	chunk_shape(metadata, shape);
	assert_ok(zarr_chain_chunk_bytes(chain, shape, &size, &err), &err);
	assert_true(size <= sizeof(out));

	unhex(c->stored, &stored);
	assert_ok(zarr_chain_decode(chain, shape, buf_slice(&stored), out, size, &err), &err);
	assert_hex(slice_of(out, size), c->decoded);

	assert_ok(zarr_chain_encode(chain, shape, slice_of(out, size), &ours, &err), &err);
	if (c->exact)
		assert_hex(buf_slice(&ours), c->stored);
	assert_ok(zarr_chain_decode(chain, shape, buf_slice(&ours), again, size, &err), &err);
	assert_memory_equal(again, out, size);
}

/* No stored chunk that lost bytes decodes, nor one that gained any where there is no index to pass
 * them over, and none touches memory beyond the result. */
static void test_damaged(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(buf_done) struct buf stored = BUF_INIT(BUF_NO_LIMIT);
	const struct golden_case *c = *state;
	struct error err = ERROR_INIT;
	uint64_t shape[ZARR_DIMS_MAX];
	size_t size;

	metadata = read_document(c->document);
	chain = make_chain(metadata);
	chunk_shape(metadata, shape);
	assert_ok(zarr_chain_chunk_bytes(chain, shape, &size, &err), &err);
	unhex(c->stored, &stored);
	for (size_t n = 0; n <= stored.size + 1; n++) {
		CLEANUP(freep) uint8_t *out = malloc(size);
		CLEANUP(freep) uint8_t *cut = calloc(1, n + 1);
		int r;

		if (n == stored.size || (n > stored.size && strstr(c->document, "\"start\"")))
			continue;
		memcpy(cut, stored.data, n < stored.size ? n : stored.size);
		if (n > stored.size)
			cut[stored.size] = 1;
		r = zarr_chain_decode(chain, shape, slice_of(cut, n), out, size, &err);
		assert_int_equal(r, ERR_FORMAT);
	}
	/* Flipped bits may decode to other values, but never harm. */
	for (size_t bit = 0; bit < 8 * stored.size; bit++) {
		CLEANUP(freep) uint8_t *out = malloc(size);

		stored.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		(void)zarr_chain_decode(chain, shape, buf_slice(&stored), out, size, &err);
		stored.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* A chunk of 8 bytes; what the stored bytes would decode to has a million. */
static struct bomb_case {
	const char *name;
	const char *codec;
} bomb_cases[] = {
	{"zstd", "{\"name\":\"zstd\",\"configuration\":{\"level\":0,\"checksum\":false}}"},
	{"gzip", "{\"name\":\"gzip\",\"configuration\":{\"level\":9}}"},
	{"blosc", "{\"name\":\"blosc\",\"configuration\":{\"typesize\":1,\"cname\":\"zstd\","
		  "\"clevel\":9,\"shuffle\":\"noshuffle\",\"blocksize\":0}}"},
};

static struct zarr_chain *chain_of_bytes(const char *codec)
{
	static const char format[] =
		ARRAY_DOCUMENT("[8]", "[8]", "\"uint8\"", "0", "[{\"name\":\"bytes\"},%s]");
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	char document[1024];

	snprintf(document, sizeof(document), format, codec);
	metadata = read_document(document);
	return make_chain(metadata);
}

static void test_bomb(void **state)
{
	const struct bomb_case *c = *state;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = chain_of_bytes(c->codec);
	CLEANUP(buf_done) struct buf bomb = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) uint8_t *zeros = calloc(1, 1000000);
	struct error err = ERROR_INIT;
	uint64_t large = 1000000;
	uint64_t small = 8;
	uint8_t out[8];
	int r;

	assert_ok(zarr_chain_encode(chain, &large, slice_of(zeros, large), &bomb, &err), &err);
	assert_true(bomb.size < 10000);
	r = zarr_chain_decode(chain, &small, buf_slice(&bomb), out, sizeof(out), &err);
	assert_int_equal(r, ERR_FORMAT);
}

static void test_gzip_members(void **state)
{
	CLEANUP(zarr_chain_freep)
	struct zarr_chain *chain = chain_of_bytes("{\"name\":\"gzip\",\"configuration\":{}}");
	CLEANUP(buf_done) struct buf stored = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	uint64_t half = 4;
	uint64_t whole = 8;
	uint8_t out[8];

	(void)state;
	assert_ok(zarr_chain_encode(chain, &half, slice_text("abcd"), &stored, &err), &err);
	assert_ok(zarr_chain_encode(chain, &half, slice_text("efgh"), &stored, &err), &err);
	assert_ok(zarr_chain_decode(chain, &whole, buf_slice(&stored), out, 8, &err), &err);
	assert_memory_equal(out, "abcdefgh", 8);
	/* Padding, as Python's gzip has it. */
	assert_ok(buf_append(&stored, "\0\0\0", 3, &err), &err);
	assert_ok(zarr_chain_decode(chain, &whole, buf_slice(&stored), out, 8, &err), &err);
	assert_ok(buf_append(&stored, "x", 1, &err), &err);
	assert_int_equal(zarr_chain_decode(chain, &whole, buf_slice(&stored), out, 8, &err),
			 ERR_FORMAT);
}

/* What stands in the way of making a chain, or of decoding with it. */
static struct refused_case {
	const char *name;
	const char *document;
	int result;
	const char *error;
} refused_cases[] = {
	{"no codec gives bytes",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int16\"", "0",
			"[{\"name\":\"transpose\",\"configuration\":{\"order\":[0]}}]"),
	 ERR_FORMAT, "codecs: none of them gives bytes"},
	{"nothing", ARRAY_DOCUMENT("[2]", "[2]", "\"int16\"", "0", "[]"), ERR_FORMAT,
	 "codecs: none of them gives bytes"},
	{"two codecs give bytes",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int16\"", "0", "[" BYTES_CODEC "," BYTES_CODEC "]"),
	 ERR_FORMAT, "codecs: 'bytes' stands behind 'bytes'"},
	{"bytes are missing",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int16\"", "0", "[{\"name\":\"crc32c\"}]"), ERR_FORMAT,
	 "codecs: 'crc32c' has no codec before it that gives bytes"},
	{"no byte order", ARRAY_DOCUMENT("[2]", "[2]", "\"int16\"", "0", "[{\"name\":\"bytes\"}]"),
	 ERR_FORMAT, "codec 'bytes': there is no endian"},
	{"unknown key",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0",
			"[{\"name\":\"bytes\",\"configuration\":{\"order\":1}}]"),
	 ERR_FORMAT, "codec 'bytes': configuration has an unknown key \"order\""},
	{"a dimension twice",
	 ARRAY_DOCUMENT("[2,2]", "[2,2]", "\"int16\"", "0",
			"[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,1]}}]"),
	 ERR_FORMAT, "codec 'transpose': order does not name each dimension once"},
	{"scale of zero",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"float32\"", "0",
			"[{\"name\":\"scale_offset\",\"configuration\":{\"scale\":0}}]"),
	 ERR_FORMAT, "codec 'scale_offset': the scale is zero"},
	{"scale of another type",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int16\"", "0",
			"[{\"name\":\"scale_offset\",\"configuration\":{\"scale\":0.5}}]"),
	 ERR_FORMAT, "codec 'scale_offset': scale 0.5 is not a number of the array's type"},
	{"scale_offset of truths",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"bool\"", "false", "[{\"name\":\"scale_offset\"}]"),
	 ERR_FORMAT, "codec 'scale_offset': the array is not one of numbers"},
	{"gzip level",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0",
			"[\"bytes\",{\"name\":\"gzip\",\"configuration\":{\"level\":10}}]"),
	 ERR_FORMAT, "codec 'gzip': level is not a whole number from 0 to 9"},
	{"blosc compressor",
	 ARRAY_DOCUMENT(
		 "[2]", "[2]", "\"int8\"", "0",
		 "[\"bytes\",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"brotli\"}}]"),
	 ERR_FORMAT, "codec 'blosc': cname \"brotli\" is not known"},
	{"shards of another rank",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0", SHARDS("[1,1]", "\"bytes\"", "end")),
	 ERR_FORMAT, "codec 'sharding_indexed': chunk_shape is not a list of 1 sizes"},
	{"unknown data type", ARRAY_DOCUMENT("[2]", "[2]", "\"string\"", "\"\"", "[\"vlen-utf8\"]"),
	 ERR_UNSUPPORTED, "data_type \"string\" is not known"},
	{"fill value", ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "1000", "[\"bytes\"]"), ERR_FORMAT,
	 "fill_value 1000 is not a whole number in the range of the type"},
};

static void test_refused(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	const struct refused_case *c = *state;
	struct error err = ERROR_INIT;

	metadata = read_document(c->document);
	assert_int_equal(zarr_chain_new(metadata, NULL, &chain, &err), c->result);
	assert_string_equal(err.text, c->error);
}

static struct unknown_case {
	const char *name;
	const char *document;
	const char *codec;
} unknown_cases[] = {
	{"first", ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0", "[\"gribberish\"]"), "gribberish"},
	{"behind", ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0", "[\"bytes\",\"lz77\"]"), "lz77"},
	{"inside shards",
	 ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0",
			SHARDS("[1]", "\"bytes\",{\"name\":\"pcodec\"}", "end")),
	 "pcodec"},
};

static void test_unknown_codec(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	const struct unknown_case *c = *state;
	struct error err = ERROR_INIT;
	uint64_t shape = 2;
	uint8_t out[2];

	metadata = read_document(c->document);
	assert_ok(zarr_chain_new(metadata, NULL, &chain, &err), &err);
	assert_string_equal(zarr_chain_unknown_codec(chain), c->codec);
	assert_int_equal(zarr_chain_decode(chain, &shape, slice_text("ab"), out, 2, &err),
			 ERR_UNSUPPORTED);
	assert_non_null(strstr(err.text, c->codec));
}

/* A codec from outside: decodes "N" to a chunk of N. */
static int repeat_configure(const struct json *configuration, const struct zarr_array *array,
			    const struct zarr_registry *registry, void *context, void **ret_state,
			    struct error *err)
{
	(void)configuration;
	(void)registry;
	(void)err;
	assert_int_equal(array->type.kind, ZARR_FLOAT);
	*ret_state = context;
	return 0;
}

static void repeat_encoded_size(const void *state, const struct zarr_array *array, uint64_t size,
				uint64_t *ret_most, bool *ret_exact)
{
	(void)state;
	(void)array;
	(void)size;
	*ret_most = 100;
	*ret_exact = false;
}

static int repeat_decode(const void *state, const struct zarr_array *array, struct slice encoded,
			 uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	double value = encoded.data[0] - '0' + *(const int *)state;

	(void)err;
	assert_int_equal(array->shape[0], 2);
	for (size_t at = 0; at < room; at += sizeof(value))
		memcpy(out + at, &value, sizeof(value));
	*ret_size = room;
	return 0;
}

static const struct zarr_codec_ops repeat_codec = {
	.name = "repeat",
	.kind = ZARR_ARRAY_TO_BYTES,
	.configure = repeat_configure,
	.encoded_size = repeat_encoded_size,
	.decode = repeat_decode,
};

/* The shape of a GRIB array: a number codec in front, a registered codec, gzip behind it. */
static void test_registered_codec(void **state)
{
	static const char document[] = ARRAY_DOCUMENT(
		"[2]", "[2]", "\"float64\"", "\"NaN\"",
		"[{\"name\":\"scale_offset\",\"configuration\":{\"scale\":2,\"offset\":1}},"
		"\"repeat\",{\"name\":\"gzip\",\"configuration\":{\"level\":1}}]");
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = read_document(document);
	CLEANUP(zarr_chain_freep)
	struct zarr_chain *gzip = chain_of_bytes("{\"name\":\"gzip\",\"configuration\":{}}");
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(buf_done) struct buf stored = BUF_INIT(BUF_NO_LIMIT);
	int context = 10;
	struct zarr_registry registry = {.n = 1, .codecs = {{&repeat_codec, &context}}};
	struct error err = ERROR_INIT;
	uint64_t shape = 2;
	uint64_t one = 1;
	double out[2];

	(void)state;
	assert_ok(zarr_chain_new(metadata, &registry, &chain, &err), &err);
	assert_null(zarr_chain_unknown_codec(chain));
	assert_ok(zarr_chain_encode(gzip, &one, slice_text("4"), &stored, &err), &err);
	assert_ok(zarr_chain_decode(chain, &shape, buf_slice(&stored), (uint8_t *)out, sizeof(out),
				    &err),
		  &err);
	assert_true(out[0] == 8.0 && out[1] == 8.0); /* (4 + 10) / 2 + 1 */
	assert_int_equal(
		zarr_chain_encode(chain, &shape, slice_of(out, sizeof(out)), &stored, &err),
		ERR_UNSUPPORTED);
	assert_string_equal(err.text, "codec 'repeat' only reads");
}

/* A shard of @n inner chunks of a byte each, all of which its index sends to the same place. */
static int decode_shared(size_t n, uint64_t offset, uint64_t size, size_t stored_size,
			 struct error *err)
{
	static const char document[] =
		ARRAY_DOCUMENT("[8]", "[8]", "\"uint8\"", "0",
			       SHARDS("[1]", "\"bytes\",{\"name\":\"gzip\"}", "end"));
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = read_document(document);
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = make_chain(metadata);
	CLEANUP(buf_done) struct buf stored = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) uint8_t *out = malloc(n);
	uint64_t shape = n;
	uint8_t *bytes;
	uint32_t crc;

	assert_int_equal(buf_extend(&stored, stored_size, &bytes, err), 0);
	memset(bytes, 0, stored_size);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(buf_append(&stored, &offset, sizeof(offset), err), 0);
		assert_int_equal(buf_append(&stored, &size, sizeof(size), err), 0);
	}
	crc = crc32c(slice_sub(buf_slice(&stored), stored_size, stored.size));
	assert_int_equal(buf_append(&stored, &crc, sizeof(crc), err), 0);
	return zarr_chain_decode(chain, &shape, buf_slice(&stored), out, n, err);
}

static void test_index_of_shards(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(decode_shared(2, 90, 61, 100, &err), ERR_FORMAT);
	assert_non_null(strstr(err.text, "inner chunk 0 lies outside the shard"));
	assert_int_equal(decode_shared(2, 90, UINT64_MAX - 10, 100, &err), ERR_FORMAT);
	assert_non_null(strstr(err.text, "inner chunk 0 lies outside the shard"));
	assert_int_equal(decode_shared(10000, 0, 1000000, 1000000, &err), ERR_FORMAT);
	assert_non_null(strstr(err.text, "the inner chunks overlap too often"));
}

static void test_whole_numbers_that_do_not_fit(void **state)
{
	static const char document[] = ARRAY_DOCUMENT(
		"[1]", "[1]", "\"int8\"", "0",
		"[{\"name\":\"scale_offset\",\"configuration\":{\"scale\":2,\"offset\":100}},"
		"\"bytes\"]");
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	struct error err = ERROR_INIT;
	uint64_t shape = 1;
	uint8_t out;

	(void)state;
	/* The fill value itself, (0 - 100) * 2, does not fit. */
	metadata = read_document(document);
	assert_int_equal(zarr_chain_new(metadata, NULL, &chain, &err), ERR_FORMAT);
	zarr_metadata_free(metadata);
	metadata = read_document(ARRAY_DOCUMENT(
		"[1]", "[1]", "\"int8\"", "100",
		"[{\"name\":\"scale_offset\",\"configuration\":{\"scale\":2,\"offset\":100}},"
		"\"bytes\"]"));
	assert_ok(zarr_chain_new(metadata, NULL, &chain, &err), &err);
	assert_int_equal(zarr_chain_decode(chain, &shape, slice_of("\x03", 1), &out, 1, &err),
			 ERR_FORMAT);
	assert_string_equal(err.text, "codec 'scale_offset': a value is no multiple of the scale");
	assert_int_equal(zarr_chain_decode(chain, &shape, slice_of("\x7e", 1), &out, 1, &err),
			 ERR_FORMAT);
	assert_string_equal(err.text,
			    "codec 'scale_offset': a value does not fit the array's type");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gzip_members),
		cmocka_unit_test(test_index_of_shards),
		cmocka_unit_test(test_registered_codec),
		cmocka_unit_test(test_whole_numbers_that_do_not_fit),
	};
	int failed = RUN_CASES(test_golden, golden_cases);

	failed += RUN_CASES(test_damaged, golden_cases);
	failed += RUN_CASES(test_bomb, bomb_cases);
	failed += RUN_CASES(test_refused, refused_cases);
	failed += RUN_CASES(test_unknown_codec, unknown_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
