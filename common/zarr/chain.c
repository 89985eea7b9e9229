/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/chain.h"

int zarr_configuration_check(const struct json *configuration, const char *const *names,
			     struct error *err)
{
	struct json key, value;

	JSON_EACH (configuration, &key, value) {
		const char *const *name = names;

		while (*name && !json_is_text(&key, *name))
			name++;
		if (!*name)
			return error_set(err, ERR_FORMAT, "configuration has an unknown key %.*s",
					 (int)key.span.size, (const char *)key.span.data);
	}
	return 0;
}

int zarr_configuration_int(const struct json *configuration, const char *name, int64_t least,
			   int64_t most, int *ret_value, struct error *err)
{
	struct json value;
	int64_t number;

	if (json_get(configuration, name, &value) != 0)
		return 0;
	if (json_i64(&value, &number, NULL) < 0 || number < least || number > most)
		return error_set(err, ERR_FORMAT, "%s is not a whole number from %jd to %jd", name,
				 (intmax_t)least, (intmax_t)most);
	*ret_value = (int)number;
	return 0;
}

/* Elements of one row, one by one; the sizes that occur get a loop of their own. */
static void copy_row(uint64_t n, size_t item_size, uint8_t *to, size_t to_stride,
		     const uint8_t *from, size_t from_stride)
{
	if (to_stride == item_size && from_stride == item_size) {
		memcpy(to, from, n * item_size);
		return;
	}
#define COPY_ITEMS(size)                 \
	for (uint64_t i = 0; i < n; i++) \
	memcpy(to + i * to_stride, from + i * from_stride, (size))
	switch (item_size) {
	case 4:
		COPY_ITEMS(4);
		break;
	case 8:
		COPY_ITEMS(8);
		break;
	default:
		COPY_ITEMS(item_size);
	}
#undef COPY_ITEMS
}

void zarr_copy_strided(size_t n_dims, const uint64_t *shape, size_t item_size, uint8_t *to,
		       const size_t *to_strides, const uint8_t *from, const size_t *from_strides)
{
	if (n_dims == 0) {
		memcpy(to, from, item_size);
		return;
	}
	if (n_dims == 1) {
		copy_row(shape[0], item_size, to, to_strides[0], from, from_strides[0]);
		return;
	}
	for (uint64_t i = 0; i < shape[0]; i++)
		zarr_copy_strided(n_dims - 1, shape + 1, item_size, to + i * to_strides[0],
				  to_strides + 1, from + i * from_strides[0], from_strides + 1);
}

void zarr_fill_bytes(uint8_t *out, size_t size, const uint8_t *fill, size_t item_size)
{
	size_t done = item_size;

	if (size == 0)
		return;
	memcpy(out, fill, item_size);
	while (done < size) {
		size_t n = done < size - done ? done : size - done;

		memcpy(out + done, out, n);
		done += n;
	}
}
