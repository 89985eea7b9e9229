/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/text.h"
#include "store/drivers.h"

struct store_counter {
	struct store store;
	struct store *inner;
	atomic_uint_fast64_t get, head, put, replace, copy, list, remove;
	atomic_uint_fast64_t bytes_read, bytes_written;
};

static struct store_counter *counter(struct store *store)
{
	return (struct store_counter *)store;
}

static int counter_get_object(struct store *store, const char *key, uint64_t offset,
			      uint64_t length, const struct store_condition *condition,
			      struct buf *out, struct store_info *ret_info, struct error *err)
{
	size_t before = out->size;
	int r;

	counter(store)->get++;
	r = store_get(counter(store)->inner, key, offset, length, condition, out, ret_info, err);
	counter(store)->bytes_read += out->size - before;
	return r;
}

static int counter_head(struct store *store, const char *key, struct store_info *ret_info,
			struct error *err)
{
	counter(store)->head++;
	return store_head(counter(store)->inner, key, ret_info, err);
}

static int counter_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	counter(store)->put++;
	counter(store)->bytes_written += bytes.size;
	return store_put(counter(store)->inner, key, bytes, err);
}

static int counter_replace(struct store *store, const char *key, const struct version *version,
			   struct slice bytes, struct version *ret_version, struct error *err)
{
	counter(store)->replace++;
	counter(store)->bytes_written += bytes.size;
	return store_replace(counter(store)->inner, key, version, bytes, ret_version, err);
}

static int counter_copy(struct store *store, const char *from, const struct version *version,
			const char *to, struct error *err)
{
	counter(store)->copy++;
	return store_copy(counter(store)->inner, from, version, to, err);
}

static int counter_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
			void *argument, struct error *err)
{
	counter(store)->list++;
	return store_list(counter(store)->inner, prefix, delimiter, each, argument, err);
}

static int counter_remove(struct store *store, const char *key, struct error *err)
{
	counter(store)->remove++;
	return store_remove(counter(store)->inner, key, err);
}

static int counter_locked(struct store *store, int (*critical)(void *argument, struct error *err),
			  void *argument, struct error *err)
{
	return store_locked(counter(store)->inner, critical, argument, err);
}

static void counter_free(struct store *store)
{
	free(store);
}

static const struct store_ops counter_ops = {
	.name = "counter",
	.wrapper = true,
	.get = counter_get_object,
	.head = counter_head,
	.put = counter_put,
	.replace = counter_replace,
	.copy = counter_copy,
	.list = counter_list,
	.remove = counter_remove,
	.locked = counter_locked,
	.free = counter_free,
};

int store_counter_new(struct store *inner, struct store **ret_store, struct error *err)
{
	struct store_counter *self = calloc(1, sizeof(*self));

	if (!self)
		return error_memory(err);
	self->store.ops = &counter_ops;
	self->store.read_only = inner->read_only;
	self->store.url = text_dup(inner->url, err);
	if (!self->store.url) {
		free(self);
		return ERR_MEMORY;
	}
	self->inner = inner;
	*ret_store = &self->store;
	return 0;
}

struct store_counts store_counter_get(const struct store *store)
{
	const struct store_counter *self = (const struct store_counter *)store;

	return (struct store_counts){
		.get = self->get,
		.head = self->head,
		.put = self->put,
		.replace = self->replace,
		.copy = self->copy,
		.list = self->list,
		.remove = self->remove,
		.bytes_read = self->bytes_read,
		.bytes_written = self->bytes_written,
	};
}

void store_counter_reset(struct store *store)
{
	struct store_counter *self = counter(store);

	self->get = self->head = self->put = self->replace = 0;
	self->copy = self->list = self->remove = 0;
	self->bytes_read = self->bytes_written = 0;
}
