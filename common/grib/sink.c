/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/sink.h"

#include <inttypes.h>
#include <math.h>

/* Values that do not go to neighbouring places are scaled here first. */
enum { SEGMENT = 512 };

double grib_power(double base, int n)
{
	unsigned int rest = n < 0 ? -(unsigned int)n : (unsigned int)n;
	double power = 1;

	for (; rest; rest >>= 1, base *= base)
		if (rest & 1)
			power *= base;
	return n < 0 ? 1 / power : power;
}

static double scale_back(const struct grib_scaling *s, double value)
{
	return s->divide ? value / s->t : value * s->t;
}

int grib_scaling_check(const struct grib_message *m, const struct grib_scaling *s,
		       unsigned int bits, struct error *err)
{
	double largest = bits == 0 ? 0 : s->factor * UINT32_MAX;
	bool first = m->edition == 1;
	const char *what = NULL;

	if (!isfinite(s->reference))
		what = "the reference value is no number";
	else if (!isfinite(scale_back(s, s->reference)) ||
		 !isfinite(scale_back(s, s->reference + largest)) || s->t == 0)
		what = "scale factors beyond all values";
	if (!what)
		return 0;
	return error_set(err, ERR_FORMAT, "section %d at offset %zu: %s", first ? 4 : 5,
			 grib_section_offset(m, first ? 7 : 5), what);
}

int grib_scaling_parse(const struct grib_message *m, struct grib_scaling *ret_scaling,
		       struct error *err)
{
	struct slice s5 = m->section[5];
	uint32_t bits = be32(OCTET(s5, 12));
	float reference;

	memcpy(&reference, &bits, sizeof(reference));
	*ret_scaling = (struct grib_scaling){
		.reference = reference,
		.factor = grib_power(2, (int)be_signed(OCTET(s5, 16), 2)),
		.t = grib_power(10, -(int)be_signed(OCTET(s5, 18), 2)),
	};
	return grib_scaling_check(m, ret_scaling, *OCTET(s5, 20), err);
}

bool grib_layout_is_plain(const struct grib_layout *layout)
{
	return !layout->columns && !layout->alternating && !layout->reverse_rows &&
	       layout->rotate == 0;
}

static void reverse(double *values, uint64_t n)
{
	for (uint64_t i = 0; i < n / 2; i++) {
		double value = values[i];

		values[i] = values[n - 1 - i];
		values[n - 1 - i] = value;
	}
}

void grib_layout_turn(const struct grib_layout *l, double *values)
{
	for (uint64_t j = 0; j < l->nj; j++) {
		double *row = values + j * l->ni;

		if (l->alternating && (j & 1))
			reverse(row, l->ni);
		if (l->rotate) {
			reverse(row, l->rotate);
			reverse(row + l->rotate, l->ni - l->rotate);
			reverse(row, l->ni);
		}
	}
	if (!l->reverse_rows)
		return;
	/* All of them backwards, then each of them. */
	reverse(values, l->ni * l->nj);
	for (uint64_t j = 0; j < l->nj; j++)
		reverse(values + j * l->ni, l->ni);
}

struct grib_sink grib_sink_init(const struct grib_message *message,
				const struct grib_layout *layout, enum grib_type type, void *out)
{
	struct grib_sink sink = {
		.kernels = grib_kernels(),
		.scaling = {.factor = 1, .t = 1},
		.layout = *layout,
		.type = type,
		.out = out,
		.n = message->n_points,
		.bitmap = message->bitmap,
		.bitmap_points = message->bitmap_points,
	};

	/* One long row: nothing to split. */
	if (grib_layout_is_plain(layout))
		sink.layout = (struct grib_layout){.ni = sink.n, .nj = 1};
	return sink;
}

/* Neighbours in the message that are @stride apart in the output, @n of them. */
struct segment {
	uint64_t start;
	int64_t stride;
	uint64_t n;
};

/* The longest segment that begins at point @position. */
static struct segment segment_at(const struct grib_layout *l, uint64_t position)
{
	uint64_t length = l->columns ? l->nj : l->ni;
	uint64_t line = position / length, i = position % length;
	bool backwards = l->alternating && (line & 1);
	uint64_t along = backwards ? length - 1 - i : i;
	uint64_t column = l->columns ? line : along;
	uint64_t row = l->columns ? along : line;
	struct segment s = {.stride = backwards ? -1 : 1, .n = length - i};

	if (l->reverse_rows)
		row = l->nj - 1 - row;
	s.start = row * l->ni +
		  (column >= l->rotate ? column - l->rotate : column + l->ni - l->rotate);
	if (l->columns) {
		s.stride *= (int64_t)l->ni * (l->reverse_rows ? -1 : 1);
		return s;
	}
	/* The rotation tears a row at one place. */
	if (!backwards && column < l->rotate)
		s.n = l->rotate - column;
	if (backwards && column >= l->rotate)
		s.n = column - l->rotate + 1;
	return s;
}

static double element_at(enum grib_element element, const void *x, size_t i)
{
	switch (element) {
	case GRIB_INT32:
		return ((const int32_t *)x)[i];
	case GRIB_UINT32:
		return ((const uint32_t *)x)[i];
	case GRIB_UINT32_AS_FLOAT:
		return (double)(float)((const uint32_t *)x)[i];
	case GRIB_DOUBLE:
		break;
	}
	return ((const double *)x)[i];
}

static size_t element_size(enum grib_element element)
{
	return element == GRIB_DOUBLE ? 8 : 4;
}

static void store(const struct grib_sink *sink, void *out, size_t i, double value)
{
	if (sink->type == GRIB_F64)
		((double *)out)[i] = value;
	else
		((float *)out)[i] = (float)value;
}

/* What no kernel is made for: rare elements. */
static size_t scale_slowly(const struct grib_sink *sink, const void *x, const uint64_t *mask,
			   size_t bit, size_t n, void *out)
{
	const struct grib_scaling *s = &sink->scaling;
	size_t used = 0;

	for (size_t i = 0; i < n; i++, bit++) {
		double value;

		if (mask && !(mask[bit / 64] >> (bit % 64) & 1)) {
			store(sink, out, i, NAN);
			continue;
		}
		value = element_at(sink->element, x, used++) * s->factor + s->reference;
		store(sink, out, i, s->divide ? value / s->t : value * s->t);
	}
	return used;
}

/* Scales @n points to neighbouring places; returns how many elements of @x they took. */
static size_t scale(const struct grib_sink *sink, const void *x, const uint64_t *mask, size_t bit,
		    size_t n, void *out)
{
	const struct grib_kernels *k = sink->kernels;

	if (sink->element != GRIB_INT32)
		return scale_slowly(sink, x, mask, bit, n, out);
	if (sink->type == GRIB_F64) {
		if (mask)
			return k->scale_masked_f64(&sink->scaling, x, mask, bit, n, out);
		k->scale_f64(&sink->scaling, x, n, out);
	} else {
		if (mask)
			return k->scale_masked_f32(&sink->scaling, x, mask, bit, n, out);
		k->scale_f32(&sink->scaling, x, n, out);
	}
	return n;
}

static void scatter(const struct grib_sink *sink, const void *values, const struct segment *s,
		    size_t n)
{
	int64_t to = (int64_t)s->start;

	if (sink->type == GRIB_F64)
		for (size_t i = 0; i < n; i++, to += s->stride)
			((double *)(void *)sink->out)[to] = ((const double *)values)[i];
	else
		for (size_t i = 0; i < n; i++, to += s->stride)
			((float *)(void *)sink->out)[to] = ((const float *)values)[i];
}

/* Writes the next @n points, which are wanted, from elements that follow each other in @x. */
static void emit(struct grib_sink *sink, const void *x, const uint64_t *mask, size_t n)
{
	size_t size = grib_type_size(sink->type);
	double values[SEGMENT];
	size_t bit = 0;

	while (bit < n) {
		struct segment s = segment_at(&sink->layout, sink->position);
		size_t step = s.n < n - bit ? (size_t)s.n : n - bit;
		size_t used;

		if (s.stride == 1) {
			used = scale(sink, x, mask, bit, step, sink->out + s.start * size);
		} else {
			step = step < SEGMENT ? step : SEGMENT;
			used = scale(sink, x, mask, bit, step, values);
			scatter(sink, values, &s, step);
		}
		x = (const uint8_t *)x + used * element_size(sink->element);
		bit += step;
		sink->position += step;
	}
}

/* The 64 bits from @point on, the first as the least significant; 0 beyond the end. */
static uint64_t bitmap_word(const struct grib_sink *sink, uint64_t point)
{
	uint64_t byte = point / 8, bytes = sink->bitmap_points / 8;
	uint8_t padded[9] = {0};
	const uint8_t *p = padded;
	uint64_t word;

	if (byte + 9 <= bytes)
		p = sink->bitmap + byte;
	else if (byte < bytes)
		memcpy(padded, sink->bitmap + byte, (size_t)(bytes - byte));
	word = be64(p) << (point % 8) | p[8] >> (8 - point % 8);
	word = (word >> 1 & UINT64_C(0x5555555555555555)) | (word & UINT64_C(0x5555555555555555))
								    << 1;
	word = (word >> 2 & UINT64_C(0x3333333333333333)) | (word & UINT64_C(0x3333333333333333))
								    << 2;
	word = (word >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (word & UINT64_C(0x0f0f0f0f0f0f0f0f))
								    << 4;
	return __builtin_bswap64(word);
}

/* How many bits of @word, from the lowest on, have at most @ones ones among them. */
static unsigned int bits_with_ones(uint64_t word, size_t ones)
{
	for (size_t i = 0; i < ones && word; i++)
		word &= word - 1;
	return word ? (unsigned int)__builtin_ctzll(word) : 64;
}

/*
 * The mask of the points from the sink's position on, as many as take at most @n values;
 * @ret_used tells how many they take.
 */
static size_t next_points(const struct grib_sink *sink, size_t n, uint64_t *mask, size_t *ret_used)
{
	uint64_t left = sink->n - sink->position;
	size_t points = 0, used = 0;

	if (left > GRIB_BLOCK)
		left = GRIB_BLOCK;
	while (points < left) {
		uint64_t word = bitmap_word(sink, sink->position + points);
		size_t step = left - points < 64 ? (size_t)(left - points) : 64;
		size_t ones;

		if (step < 64)
			word &= (UINT64_C(1) << step) - 1;
		ones = (size_t)__builtin_popcountll(word);
		mask[points / 64] = word;
		if (ones > n - used) {
			points += bits_with_ones(word, n - used);
			used = n;
			break;
		}
		points += step;
		used += ones;
	}
	mask[(points + 63) / 64] = 0;
	*ret_used = used;
	return points;
}

/* Keeps those ones of @mask whose value is there according to @values. */
static size_t spread_mask(uint64_t *mask, size_t points, const uint64_t *values, size_t value)
{
	size_t taken = 0;

	for (size_t i = 0; i < points; i += 64) {
		uint64_t kept = 0;

		for (uint64_t word = mask[i / 64]; word; word &= word - 1) {
			uint64_t have = values[value / 64] >> (value % 64) & 1;

			/* Only points before the last one counted are in this put. */
			if (i + (unsigned int)__builtin_ctzll(word) >= points)
				break;
			kept |= have << __builtin_ctzll(word);
			taken += have;
			value++;
		}
		mask[i / 64] = kept;
	}
	return taken;
}

void grib_sink_put_masked(struct grib_sink *sink, const void *x, const uint64_t *values, size_t n)
{
	size_t size = element_size(sink->element);
	uint64_t mask[GRIB_MASK_WORDS];
	size_t done = 0;

	if (!sink->bitmap) {
		uint64_t left = sink->n - sink->position;

		emit(sink, x, values, n < left ? n : (size_t)left);
		return;
	}
	while (done < n && !grib_sink_full(sink)) {
		size_t used, taken;
		size_t points = next_points(sink, n - done, mask, &used);

		taken = values ? spread_mask(mask, points, values, done) : used;
		emit(sink, x, mask, points);
		x = (const uint8_t *)x + taken * size;
		done += used;
	}
}

void grib_sink_put(struct grib_sink *sink, const void *x, size_t n)
{
	grib_sink_put_masked(sink, x, NULL, n);
}

/* Writes @word @n times. */
static void fill_words(uint8_t *out, uint64_t n, uint64_t word)
{
#if defined(__x86_64__)
	/* Takes whole cache lines without reading them first, which memset() does for octets. */
	__asm__ volatile("rep stosq" : "+D"(out), "+c"(n) : "a"(word) : "memory");
#else
	for (uint64_t i = 0; i < n; i++)
		memcpy(out + i * sizeof(word), &word, sizeof(word));
#endif
}

static void fill_plain(struct grib_sink *sink, double value)
{
	float narrow[2] = {(float)value, (float)value};
	uint64_t size = sink->n * grib_type_size(sink->type);
	uint64_t word;

	memcpy(&word, sink->type == GRIB_F64 ? (const void *)&value : narrow, sizeof(word));
	fill_words(sink->out, size / sizeof(word), word);
	/* The last of an odd number of float32. */
	memcpy(sink->out + size / sizeof(word) * sizeof(word), narrow, size % sizeof(word));
	sink->position = sink->n;
}

void grib_sink_fill(struct grib_sink *sink, double value)
{
	static const int32_t zeros[GRIB_BLOCK_ROOM];

	if (!sink->bitmap) {
		fill_plain(sink, value);
		return;
	}
	/* A negative zero as the factor keeps the sign of a negative zero. */
	sink->scaling = (struct grib_scaling){.factor = -0.0, .reference = value, .t = 1};
	sink->element = GRIB_INT32;
	while (!grib_sink_full(sink)) {
		uint64_t before = sink->position;

		grib_sink_put(sink, zeros, GRIB_BLOCK);
		if (sink->position == before)
			break;
	}
}

int grib_sink_finish(struct grib_sink *sink, struct error *err)
{
	uint64_t have = sink->position;

	while (sink->bitmap && !grib_sink_full(sink)) {
		uint64_t mask[GRIB_MASK_WORDS];
		size_t used, points = next_points(sink, 0, mask, &used);

		if (points == 0)
			break;
		emit(sink, mask, mask, points);
	}
	if (grib_sink_full(sink))
		return 0;
	return error_set(err, ERR_FORMAT,
			 "values end after %" PRIu64 " of %" PRIu64
			 " points, the message is damaged",
			 have, sink->n);
}
