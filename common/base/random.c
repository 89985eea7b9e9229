/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

int random_bytes(void *bytes, size_t size, struct error *err)
{
	unsigned char *next = bytes;

	while (size > 0) {
		ssize_t n = getrandom(next, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "cannot get random bytes");
		next += n;
		size -= (size_t)n;
	}
	return 0;
}

double random_unit(void)
{
	uint64_t bits = 0;

	random_bytes(&bits, sizeof(bits), NULL);
	return (double)(bits >> 11) * 0x1p-53;
}
