/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "crc32c": the bytes, then their CRC-32C, little-endian
 */

#include "base/hash.h"
#include "zarr/chain.h"

#define CRC_SIZE 4

static const char *const keys[] = {NULL};

static int crc_configure(const struct json *configuration, const struct zarr_array *array,
			 const struct zarr_registry *registry, void *context, void **ret_state,
			 struct error *err)
{
	(void)array;
	(void)registry;
	(void)context;
	(void)ret_state;
	return zarr_configuration_check(configuration, keys, err);
}

static void crc_encoded_size(const void *state, const struct zarr_array *array, uint64_t size,
			     uint64_t *ret_most, bool *ret_exact)
{
	(void)state;
	(void)array;
	*ret_exact = true;
	if (__builtin_add_overflow(size, CRC_SIZE, ret_most))
		*ret_most = UINT64_MAX;
}

static void put_crc(struct slice bytes, uint8_t out[CRC_SIZE])
{
	uint32_t crc = crc32c(bytes);

	for (size_t i = 0; i < CRC_SIZE; i++)
		out[i] = (uint8_t)(crc >> 8 * i);
}

static int crc_decode(const void *state, const struct zarr_array *array, struct slice encoded,
		      uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	uint8_t crc[CRC_SIZE];
	struct slice bytes;

	(void)state;
	(void)array;
	if (encoded.size < CRC_SIZE)
		return error_set(err, ERR_FORMAT, "%zu bytes have no checksum", encoded.size);
	bytes = slice_sub(encoded, 0, encoded.size - CRC_SIZE);
	if (bytes.size > room)
		return error_set(err, ERR_FORMAT, "%zu bytes, at most %zu fit", bytes.size, room);
	put_crc(bytes, crc);
	if (memcmp(crc, encoded.data + bytes.size, CRC_SIZE) != 0)
		return error_set(err, ERR_FORMAT, "the checksum does not match");
	if (bytes.size > 0)
		memcpy(out, bytes.data, bytes.size);
	*ret_size = bytes.size;
	return 0;
}

static int crc_encode(const void *state, const struct zarr_array *array, struct slice decoded,
		      struct buf *out, struct error *err)
{
	uint8_t crc[CRC_SIZE];
	int r;

	(void)state;
	(void)array;
	put_crc(decoded, crc);
	r = buf_append_slice(out, decoded, err);
	return r < 0 ? r : buf_append(out, crc, sizeof(crc), err);
}

const struct zarr_codec_ops zarr_codec_crc32c = {
	.name = "crc32c",
	.kind = ZARR_BYTES_TO_BYTES,
	.configure = crc_configure,
	.encoded_size = crc_encoded_size,
	.decode = crc_decode,
	.encode = crc_encode,
};
