/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "grib/decoders.h"

/*
 * Complex packing, with or without spatial differences
 *
 * Section 7 holds, after the descriptors of the differences, three lists with an entry a group
 * (reference, width, length) and then all packed numbers.  The lists are unpacked GROUPS entries
 * at a time and turned into runs of numbers, at most a block of points of them.
 */

enum { GROUPS = 256, RUNS = 512, BITS_MAX = 32 };

/* Where a list of numbers lies in section 7. */
struct list {
	size_t offset; /* octets from the first one after the section's header */
	unsigned int bits;
};

struct groups {
	struct grib_packed packed;
	struct list references, widths, lengths;
	uint64_t n, next; /* groups, and the next to unpack */
	uint32_t width_reference, length_reference, length_increment, last_length;
	uint64_t points;    /* left to be assigned to groups */
	uint64_t bit, bits; /* next packed bit, and bits there are */
	const struct grib_message *message;

	/* The groups unpacked, of which the first `taken` are used up. */
	uint32_t reference[GROUPS + GRIB_KERNEL_SLACK / 4];
	uint32_t width[GROUPS + GRIB_KERNEL_SLACK / 4];
	uint32_t length[GROUPS + GRIB_KERNEL_SLACK / 4];
	size_t loaded, taken;
};

struct differences {
	unsigned int order; /* 0: none */
	uint32_t first[2];
	unsigned int seen; /* how many of the first were met */
	struct grib_undiff state;
};

struct missing {
	unsigned int kinds;	 /* 0: none, 1: all ones, 2: and all ones but the last */
	uint32_t reference_ones; /* a group reference of all ones */
	bool reference_empty;	 /* references have no bits */
};

static int format_error(const struct grib_message *m, int section, const char *what,
			struct error *err)
{
	return error_set(err, ERR_FORMAT, "section %d at offset %zu: %s", section,
			 grib_section_offset(m, section), what);
}

static uint32_t all_ones(unsigned int bits)
{
	return bits == 0 ? 0 : UINT32_MAX >> (32 - bits);
}

static uint32_t signed_octets(const uint8_t *p, unsigned int octets)
{
	return octets ? (uint32_t)be_signed(p, octets) : 0;
}

static int parse_differences(const struct grib_message *m, struct differences *d,
			     size_t *ret_offset, struct error *err)
{
	struct slice data = slice_sub(m->section[7], 5, SIZE_MAX);
	unsigned int octets;
	const uint8_t *p = data.data;

	*d = (struct differences){0};
	*ret_offset = 0;
	if (m->packing == 2)
		return 0;
	d->order = *OCTET(m->section[5], 48) == 1 ? 1 : 2;
	octets = *OCTET(m->section[5], 49);
	if (octets > 4)
		return format_error(m, 5, "descriptors of more than 4 octets", err);
	if (data.size < (size_t)octets * (d->order + 1))
		return format_error(m, 7, "the descriptors of the differences are cut", err);
	for (unsigned int i = 0; i < d->order; i++, p += octets)
		d->first[i] = signed_octets(p, octets);
	d->state.minimum = signed_octets(p, octets);
	*ret_offset = (size_t)octets * (d->order + 1);
	return 0;
}

/* Places a list at *@offset and moves that behind it. */
static int place_list(const struct groups *g, unsigned int bits, size_t *offset,
		      struct list *ret_list, struct error *err)
{
	uint64_t octets = (g->n * bits + 7) / 8;

	if (bits > BITS_MAX)
		return format_error(g->message, 5, "group descriptors of more than 32 bits", err);
	if (octets > g->packed.size - *offset)
		return format_error(g->message, 7, "the group descriptors are cut", err);
	*ret_list = (struct list){.offset = *offset, .bits = bits};
	*offset += (size_t)octets;
	return 0;
}

static int parse_groups(const struct grib_message *m, size_t offset, struct groups *g,
			struct error *err)
{
	struct slice data = slice_sub(m->section[7], 5, SIZE_MAX);
	struct slice s5 = m->section[5];
	int r;

	g->message = m;
	g->packed.bytes = data.data;
	g->packed.size = data.size;
	g->n = be32(OCTET(s5, 32));
	g->next = 0;
	g->loaded = g->taken = 0;
	g->width_reference = *OCTET(s5, 36);
	g->length_reference = be32(OCTET(s5, 38));
	g->length_increment = *OCTET(s5, 42);
	g->last_length = be32(OCTET(s5, 43));
	g->points = m->n_values;
	/* Groups without values would cost time and no bytes. */
	if (g->n > m->n_values)
		return format_error(m, 5, "more groups than values", err);
	r = place_list(g, *OCTET(s5, 20), &offset, &g->references, err);
	if (r < 0)
		return r;
	r = place_list(g, *OCTET(s5, 37), &offset, &g->widths, err);
	if (r < 0)
		return r;
	r = place_list(g, *OCTET(s5, 47), &offset, &g->lengths, err);
	if (r < 0)
		return r;
	g->bit = (uint64_t)offset * 8;
	g->bits = (uint64_t)data.size * 8;
	return 0;
}

static void unpack_list(struct groups *g, const struct grib_kernels *kernels,
			const struct list *list, size_t n, uint32_t *out)
{
	/* A whole batch of groups fills whole octets. */
	size_t offset = list->offset + (size_t)(g->next * list->bits / 8);

	if (list->bits == 0)
		memset(out, 0, n * sizeof(*out));
	else
		kernels->unpack(grib_packed_at(&g->packed, offset, (n * list->bits + 7) / 8), 0,
				list->bits, out, n);
}

/* Unpacks the next groups and checks them against the points and bits that are left. */
static int load_groups(struct groups *g, const struct grib_kernels *kernels, struct error *err)
{
	size_t n = g->n - g->next < GROUPS ? (size_t)(g->n - g->next) : GROUPS;

	unpack_list(g, kernels, &g->references, n, g->reference);
	unpack_list(g, kernels, &g->widths, n, g->width);
	unpack_list(g, kernels, &g->lengths, n, g->length);
	for (size_t i = 0; i < n; i++) {
		uint64_t width = (uint64_t)g->width[i] + g->width_reference;
		uint64_t length =
			(uint64_t)g->length[i] * g->length_increment + g->length_reference;

		if (g->next + i + 1 == g->n)
			length = g->last_length;
		if (width > BITS_MAX)
			return format_error(g->message, 7, "a group of more than 32 bits a value",
					    err);
		if (length > g->points)
			return format_error(g->message, 7,
					    "the groups hold more values than section 5 says", err);
		g->points -= length;
		g->width[i] = (uint32_t)width;
		g->length[i] = (uint32_t)length;
	}
	g->next += n;
	g->loaded = n;
	g->taken = 0;
	if (g->next == g->n && g->points > 0)
		return error_set(err, ERR_FORMAT,
				 "section 7 at offset %zu: the groups hold %" PRIu64
				 " values less than section 5 says",
				 grib_section_offset(g->message, 7), g->points);
	return 0;
}

/* What one block of points is packed as. */
struct block {
	struct grib_run runs[RUNS];
	size_t n_runs, points;
	uint64_t from; /* bit where they begin */
	bool wide;     /* a number may need all 32 bits */
};

/*
 * Fills @block; a group that does not fit leaves its rest for the next time.  No runs are left at
 * the end.
 */
static int next_block(struct groups *g, const struct grib_kernels *kernels, struct block *block,
		      struct error *err)
{
	uint64_t bits = 0;
	int r;

	block->n_runs = block->points = 0;
	block->wide = false;
	while (block->n_runs < RUNS && block->points < GRIB_BLOCK) {
		struct grib_run *run = &block->runs[block->n_runs];

		if (g->taken == g->loaded) {
			if (g->next == g->n)
				break;
			r = load_groups(g, kernels, err);
			if (r < 0)
				return r;
		}
		*run = (struct grib_run){
			.reference = g->reference[g->taken],
			.width = g->width[g->taken],
			.length = g->length[g->taken],
		};
		if (run->length > GRIB_BLOCK - block->points)
			run->length = (uint32_t)(GRIB_BLOCK - block->points);
		block->n_runs++;
		block->points += run->length;
		block->wide |= (uint64_t)run->reference + all_ones(run->width) > INT32_MAX;
		bits += (uint64_t)run->length * run->width;
		g->length[g->taken] -= run->length;
		g->taken += g->length[g->taken] == 0;
	}
	if (bits > g->bits - g->bit)
		return format_error(g->message, 7, "the packed values are cut", err);
	block->from = g->bit;
	g->bit += bits;
	return 0;
}

/* The packed octets of @block. */
static const uint8_t *packed_bits(struct groups *g, const struct block *block,
				  unsigned int *ret_bit)
{
	size_t from = (size_t)(block->from / 8), to = (size_t)((g->bit + 7) / 8);

	*ret_bit = (unsigned int)(block->from % 8);
	return grib_packed_at(&g->packed, from, to - from);
}

static void undo_differences(struct differences *d, const struct grib_kernels *kernels, uint32_t *x,
			     size_t n)
{
	size_t i = 0;

	if (d->order == 0)
		return;
	/* The first ones are descriptors; what is stored in their places means nothing. */
	for (; i < n && d->seen < d->order; i++, d->seen++) {
		x[i] = d->first[d->seen];
		d->state.difference = x[i] - d->state.value;
		d->state.value = x[i];
	}
	if (d->order == 1)
		kernels->undiff1(&d->state, x + i, n - i);
	else
		kernels->undiff2(&d->state, x + i, n - i);
}

static bool group_is_missing(const struct missing *missing, uint32_t reference)
{
	if (missing->reference_empty)
		return true;
	return reference == missing->reference_ones ||
	       (missing->kinds > 1 && reference == missing->reference_ones - 1);
}

/* Sets bits [@bit, @bit + @n) of a mask of zeros. */
static void mask_set(uint64_t *mask, size_t bit, size_t n)
{
	while (n > 0) {
		size_t step = 64 - bit % 64 < n ? 64 - bit % 64 : n;

		mask[bit / 64] |= UINT64_MAX >> (64 - step) << (bit % 64);
		bit += step;
		n -= step;
	}
}

/*
 * Moves the numbers of one run that are not missing to @x, their group's reference added, and
 * sets their bits in @mask.  Returns how many.
 */
static size_t keep_run(const struct missing *missing, const struct grib_run *run,
		       const uint32_t *raw, uint64_t *mask, size_t bit, uint32_t *x)
{
	uint32_t least = all_ones(run->width) - (missing->kinds > 1);
	size_t kept = 0;

	if (run->width == 0) {
		if (group_is_missing(missing, run->reference))
			return 0;
		for (uint32_t i = 0; i < run->length; i++)
			x[i] = run->reference;
		mask_set(mask, bit, run->length);
		return run->length;
	}
	for (uint32_t i = 0; i < run->length; i++, bit++) {
		bool have = raw[i] < least;

		x[kept] = raw[i] + run->reference;
		kept += have;
		mask[bit / 64] |= (uint64_t)have << (bit % 64);
	}
	return kept;
}

/* Unpacks a block without the missing ones, which @mask tells; returns how many are left. */
static size_t unpack_present(const struct grib_kernels *kernels, const struct missing *missing,
			     const uint8_t *bytes, unsigned int bit, const struct block *block,
			     uint64_t *mask, uint32_t *x)
{
	uint32_t raw[GRIB_BLOCK_ROOM];
	struct grib_run plain[RUNS];
	size_t points = 0, kept = 0;

	for (size_t i = 0; i < block->n_runs; i++) {
		plain[i] = block->runs[i];
		plain[i].reference = 0;
	}
	kernels->unpack_runs(bytes, bit, plain, block->n_runs, raw);
	memset(mask, 0, GRIB_MASK_WORDS * sizeof(*mask));
	for (size_t i = 0; i < block->n_runs; i++) {
		kept += keep_run(missing, &block->runs[i], raw + points, mask, points, x + kept);
		points += block->runs[i].length;
	}
	return kept;
}

static struct missing parse_missing(struct slice s5)
{
	unsigned int kinds = *OCTET(s5, 23);
	unsigned int bits = *OCTET(s5, 20);

	return (struct missing){
		.kinds = kinds < 2 ? kinds : 2,
		.reference_empty = bits == 0,
		.reference_ones = bits <= BITS_MAX ? all_ones(bits) : 0,
	};
}

static int check_header(const struct grib_message *m, struct error *err)
{
	if (m->section[5].size < (m->packing == 2 ? 47 : 49))
		return format_error(m, 5, "too short for complex packing", err);
	return 0;
}

static void put_block(struct groups *groups, const struct block *block,
		      const struct missing *missing, struct differences *differences,
		      struct grib_sink *sink)
{
	uint64_t mask[GRIB_MASK_WORDS];
	uint32_t x[GRIB_BLOCK_ROOM];
	unsigned int bit;
	const uint8_t *bytes = packed_bits(groups, block, &bit);
	size_t kept;

	/* Differences make numbers signed; without them they are not. */
	sink->element = differences->order == 0 && block->wide ? GRIB_UINT32 : GRIB_INT32;
	if (missing->kinds == 0) {
		sink->kernels->unpack_runs(bytes, bit, block->runs, block->n_runs, x);
		undo_differences(differences, sink->kernels, x, block->points);
		grib_sink_put(sink, x, block->points);
		return;
	}
	kept = unpack_present(sink->kernels, missing, bytes, bit, block, mask, x);
	undo_differences(differences, sink->kernels, x, kept);
	grib_sink_put_masked(sink, x, mask, block->points);
}

static int begin(const struct grib_message *m, struct groups *groups,
		 struct differences *differences, struct error *err)
{
	size_t offset;
	int r;

	r = check_header(m, err);
	if (r < 0)
		return r;
	r = parse_differences(m, differences, &offset, err);
	if (r < 0)
		return r;
	return parse_groups(m, offset, groups, err);
}

int grib_decode_complex(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
			struct error *err)
{
	struct differences differences;
	struct missing missing;
	struct groups groups;
	struct block block;
	int r;

	(void)mode;
	r = begin(m, &groups, &differences, err);
	if (r < 0)
		return r;
	missing = parse_missing(m->section[5]);
	r = grib_scaling_parse(m, &sink->scaling, err);
	if (r < 0)
		return r;
	while (!grib_sink_full(sink)) {
		r = next_block(&groups, sink->kernels, &block, err);
		if (r < 0)
			return r;
		if (block.n_runs == 0)
			break;
		put_block(&groups, &block, &missing, &differences, sink);
	}
	return 0;
}

int grib_check_complex(const struct grib_message *m, struct error *err)
{
	struct differences differences;
	struct groups groups;
	struct block block;
	int r;

	r = begin(m, &groups, &differences, err);
	if (r < 0)
		return r;
	do {
		r = next_block(&groups, &grib_kernels_portable, &block, err);
		if (r < 0)
			return r;
	} while (block.n_runs > 0);
	return 0;
}
