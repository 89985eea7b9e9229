/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void freep(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void closep(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
