/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in front of another that counts what is asked of it, and fails when it is told to
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "store/drivers.h"

struct store_probe {
	struct store store;
	struct store *inner;
	atomic_uint_fast64_t get, head, put, replace, copy, list, remove;
	atomic_uint_fast64_t bytes_read, bytes_written;
	unsigned int nth; /* operation that fails, 0 = none */
	enum fault_kind kind;
	atomic_uint seen;
};

enum { FAULT_EXIT_STATUS = 99 };

static struct store_probe *probe(struct store *store)
{
	return (struct store_probe *)store;
}

/* Counts one operation; 1 if its answer has to be lost afterwards. */
static int probe_before(struct store *store, atomic_uint_fast64_t *count, struct error *err)
{
	struct store_probe *self = probe(store);
	unsigned int number = atomic_fetch_add(&self->seen, 1) + 1;

	++*count;
	if (number != self->nth)
		return 0;
	if (self->kind == FAULT_EXIT)
		_exit(FAULT_EXIT_STATUS);
	if (self->kind == FAULT_FAIL_AFTER)
		return 1;
	return error_set(err, ERR_NETWORK, "injected fault before operation %u", number);
}

static int probe_after(struct store *store, int lost, int r, struct error *err)
{
	if (!lost)
		return r;
	return error_set(err, ERR_NETWORK, "injected fault after operation %u", probe(store)->nth);
}

/* Runs @call on the store inside, counted, with the fault around it. */
#define PROBED(store, count, err, call)                                     \
	({                                                                  \
		int lost_ = probe_before(store, &probe(store)->count, err); \
		lost_ < 0 ? lost_ : probe_after(store, lost_, call, err);   \
	})

static int probe_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		     const struct store_condition *condition, struct buf *out,
		     struct store_info *ret_info, struct error *err)
{
	size_t before = out->size;
	int r = PROBED(
		store, get, err,
		store_get(probe(store)->inner, key, offset, length, condition, out, ret_info, err));

	probe(store)->bytes_read += out->size - before;
	if (r < 0)
		out->size = before;
	return r;
}

static int probe_head(struct store *store, const char *key, struct store_info *ret_info,
		      struct error *err)
{
	return PROBED(store, head, err, store_head(probe(store)->inner, key, ret_info, err));
}

static int probe_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	probe(store)->bytes_written += bytes.size;
	return PROBED(store, put, err, store_put(probe(store)->inner, key, bytes, err));
}

static int probe_replace(struct store *store, const char *key, const struct version *version,
			 struct slice bytes, struct version *ret_version, struct error *err)
{
	probe(store)->bytes_written += bytes.size;
	return PROBED(store, replace, err,
		      store_replace(probe(store)->inner, key, version, bytes, ret_version, err));
}

static int probe_copy(struct store *store, const char *from, const struct version *version,
		      const char *to, struct error *err)
{
	return PROBED(store, copy, err, store_copy(probe(store)->inner, from, version, to, err));
}

static int probe_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		      void *argument, struct error *err)
{
	return PROBED(store, list, err,
		      store_list(probe(store)->inner, prefix, delimiter, each, argument, err));
}

static int probe_remove(struct store *store, const char *key, struct error *err)
{
	return PROBED(store, remove, err, store_remove(probe(store)->inner, key, err));
}

static int probe_locked(struct store *store, int (*critical)(void *argument, struct error *err),
			void *argument, struct error *err)
{
	return store_locked(probe(store)->inner, critical, argument, err);
}

static void probe_free(struct store *store)
{
	free(store);
}

static const struct store_ops probe_ops = {
	.name = "probe",
	.wrapper = true,
	.get = probe_get,
	.head = probe_head,
	.put = probe_put,
	.replace = probe_replace,
	.copy = probe_copy,
	.list = probe_list,
	.remove = probe_remove,
	.locked = probe_locked,
	.free = probe_free,
};

static int probe_new(struct store *inner, unsigned int nth, enum fault_kind kind,
		     struct store **ret_store, struct error *err)
{
	struct store_probe *self = calloc(1, sizeof(*self));

	if (!self)
		return error_memory(err);
	self->store.ops = &probe_ops;
	self->store.read_only = inner->read_only;
	self->store.url = text_dup(inner->url, err);
	if (!self->store.url) {
		free(self);
		return ERR_MEMORY;
	}
	self->inner = inner;
	self->nth = nth;
	self->kind = kind;
	*ret_store = &self->store;
	return 0;
}

int store_counter_new(struct store *inner, struct store **ret_store, struct error *err)
{
	return probe_new(inner, 0, FAULT_FAIL_BEFORE, ret_store, err);
}

int store_fault_new(struct store *inner, unsigned int nth, enum fault_kind kind,
		    struct store **ret_store, struct error *err)
{
	return probe_new(inner, nth, kind, ret_store, err);
}

unsigned int store_fault_count(const struct store *store)
{
	return ((const struct store_probe *)store)->seen;
}

struct store_counts store_counter_get(const struct store *store)
{
	const struct store_probe *self = (const struct store_probe *)store;

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
	struct store_probe *self = probe(store);

	self->get = self->head = self->put = self->replace = 0;
	self->copy = self->list = self->remove = 0;
	self->bytes_read = self->bytes_written = 0;
}
