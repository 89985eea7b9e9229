/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "store/drivers.h"

struct store_fault {
	struct store store;
	struct store *inner;
	unsigned int nth;
	enum fault_kind kind;
	atomic_uint seen;
};

enum { FAULT_EXIT_STATUS = 99 };

static struct store_fault *fault(struct store *store)
{
	return (struct store_fault *)store;
}

/* Counts one operation; 1 if its answer has to be lost afterwards. */
static int fault_before(struct store *store, struct error *err)
{
	struct store_fault *self = fault(store);
	unsigned int number = atomic_fetch_add(&self->seen, 1) + 1;

	if (number != self->nth)
		return 0;
	if (self->kind == FAULT_EXIT)
		_exit(FAULT_EXIT_STATUS);
	if (self->kind == FAULT_FAIL_AFTER)
		return 1;
	return error_set(err, ERR_NETWORK, "injected fault before operation %u", number);
}

static int fault_after(struct store *store, int lost, int r, struct error *err)
{
	if (!lost)
		return r;
	return error_set(err, ERR_NETWORK, "injected fault after operation %u", fault(store)->nth);
}

/* Runs @call on the store inside, with the fault around it. */
#define FAULTY(store, err, call)                                          \
	({                                                                \
		int lost_ = fault_before(store, err);                     \
		lost_ < 0 ? lost_ : fault_after(store, lost_, call, err); \
	})

static int fault_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		     const struct store_condition *condition, struct buf *out,
		     struct store_info *ret_info, struct error *err)
{
	size_t before = out->size;
	int r = FAULTY(
		store, err,
		store_get(fault(store)->inner, key, offset, length, condition, out, ret_info, err));

	if (r < 0)
		out->size = before;
	return r;
}

static int fault_head(struct store *store, const char *key, struct store_info *ret_info,
		      struct error *err)
{
	return FAULTY(store, err, store_head(fault(store)->inner, key, ret_info, err));
}

static int fault_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	return FAULTY(store, err, store_put(fault(store)->inner, key, bytes, err));
}

static int fault_replace(struct store *store, const char *key, const struct version *version,
			 struct slice bytes, struct version *ret_version, struct error *err)
{
	return FAULTY(store, err,
		      store_replace(fault(store)->inner, key, version, bytes, ret_version, err));
}

static int fault_copy(struct store *store, const char *from, const struct version *version,
		      const char *to, struct error *err)
{
	return FAULTY(store, err, store_copy(fault(store)->inner, from, version, to, err));
}

static int fault_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		      void *argument, struct error *err)
{
	return FAULTY(store, err,
		      store_list(fault(store)->inner, prefix, delimiter, each, argument, err));
}

static int fault_remove(struct store *store, const char *key, struct error *err)
{
	return FAULTY(store, err, store_remove(fault(store)->inner, key, err));
}

static int fault_locked(struct store *store, int (*critical)(void *argument, struct error *err),
			void *argument, struct error *err)
{
	return store_locked(fault(store)->inner, critical, argument, err);
}

static void fault_free(struct store *store)
{
	free(store);
}

static const struct store_ops fault_ops = {
	.name = "fault",
	.wrapper = true,
	.get = fault_get,
	.head = fault_head,
	.put = fault_put,
	.replace = fault_replace,
	.copy = fault_copy,
	.list = fault_list,
	.remove = fault_remove,
	.locked = fault_locked,
	.free = fault_free,
};

int store_fault_new(struct store *inner, unsigned int nth, enum fault_kind kind,
		    struct store **ret_store, struct error *err)
{
	struct store_fault *self = calloc(1, sizeof(*self));

	if (!self)
		return error_memory(err);
	self->store.ops = &fault_ops;
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

unsigned int store_fault_count(const struct store *store)
{
	return ((const struct store_fault *)store)->seen;
}
