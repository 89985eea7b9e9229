/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/array.h"

#include <stdlib.h>

#include "reader/memory.h"

struct content *content_new(uint8_t *data, size_t size, struct error *err)
{
	struct content *content = malloc(sizeof(*content));

	if (!content) {
		error_memory(err);
		return NULL;
	}
	*content = (struct content){.bytes = {data, size}, .owners = 1, .data = data};
	return content;
}

struct content *content_ref(struct content *content)
{
	__atomic_add_fetch(&content->owners, 1, __ATOMIC_RELAXED);
	return content;
}

struct content *content_free(struct content *content)
{
	if (content && __atomic_sub_fetch(&content->owners, 1, __ATOMIC_ACQ_REL) == 0) {
		free(content->data);
		if (content->memory)
			memory_give(content->memory, content->bytes.size);
		memory_free(content->memory);
		free(content);
	}
	return NULL;
}
