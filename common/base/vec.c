/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

int vec_reserve(void **items, size_t *capacity, size_t need, size_t item_size, struct error *err)
{
	size_t n = *capacity;
	size_t bytes;
	void *grown;

	if (need <= n)
		return 0;
	n = n < 8 ? 8 : n + n / 2;
	if (n < need)
		n = need;
	if (__builtin_mul_overflow(n, item_size, &bytes))
		return error_memory(err);
	grown = realloc(*items, bytes);
	if (!grown)
		return error_memory(err);
	*items = grown;
	*capacity = n;
	return 0;
}
