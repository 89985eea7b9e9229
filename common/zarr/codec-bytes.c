/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "bytes": elements one after the other, in either byte order
 */

#include "zarr/chain.h"

static const char *const keys[] = {"endian", NULL};

/* State of arrays that are stored with the most significant byte first. */
static const int big_endian = 1;

static int bytes_configure(const struct json *configuration, const struct zarr_array *array,
			   const struct zarr_registry *registry, void *context, void **ret_state,
			   struct error *err)
{
	struct json endian;
	int r;

	(void)registry;
	(void)context;
	r = zarr_configuration_check(configuration, keys, err);
	if (r < 0)
		return r;
	if (json_get(configuration, "endian", &endian) != 0 || endian.type == JSON_NULL) {
		if (array->type.unit > 1)
			return error_set(err, ERR_FORMAT, "there is no endian");
		return 0;
	}
	if (json_is_text(&endian, "big"))
		*ret_state = (void *)&big_endian;
	else if (!json_is_text(&endian, "little"))
		return error_set(err, ERR_FORMAT, "endian is neither 'little' nor 'big'");
	return 0;
}

static void bytes_encoded_size(const void *state, const struct zarr_array *array, uint64_t size,
			       uint64_t *ret_most, bool *ret_exact)
{
	(void)state;
	(void)array;
	*ret_most = size;
	*ret_exact = true;
}

#define TURN(type, turn)                                                  \
	for (size_t i = 0; i + sizeof(type) <= size; i += sizeof(type)) { \
		type value;                                               \
		memcpy(&value, bytes + i, sizeof(value));                 \
		value = turn(value);                                      \
		memcpy(bytes + i, &value, sizeof(value));                 \
	}

/* Turns every unit of @bytes round. */
static void turn_units(uint8_t *bytes, size_t size, uint32_t unit)
{
	if (unit == 2) {
		TURN(uint16_t, __builtin_bswap16)
	} else if (unit == 4) {
		TURN(uint32_t, __builtin_bswap32)
	} else if (unit == 8) {
		TURN(uint64_t, __builtin_bswap64)
	}
}

static int bytes_decode(const void *state, const struct zarr_array *array, struct slice encoded,
			uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	if (encoded.size != room)
		return error_set(err, ERR_FORMAT, "%zu bytes, a chunk has %zu", encoded.size, room);
	if (room > 0 && out != encoded.data)
		memcpy(out, encoded.data, room);
	if (state)
		turn_units(out, room, array->type.unit);
	*ret_size = room;
	return 0;
}

static int bytes_encode(const void *state, const struct zarr_array *array, struct slice decoded,
			struct buf *out, struct error *err)
{
	size_t before = out->size;
	int r;

	r = buf_append_slice(out, decoded, err);
	if (r < 0)
		return r;
	if (state)
		turn_units(out->data + before, decoded.size, array->type.unit);
	return 0;
}

const struct zarr_codec_ops zarr_codec_bytes = {
	.name = "bytes",
	.kind = ZARR_ARRAY_TO_BYTES,
	.in_place = true,
	.configure = bytes_configure,
	.encoded_size = bytes_encoded_size,
	.decode = bytes_decode,
	.encode = bytes_encode,
};
