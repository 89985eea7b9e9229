/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "grib/decoders.h"

/*
 * Texts follow wgrib2's inventories, which is what NOAA's .idx files are
 */

struct number_name {
	int number;
	const char *name;
};

static const char *find_name(const struct number_name *table, size_t n, int number,
			     const char *otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].number == number)
			return table[i].name;
	return otherwise;
}

static const char *packing_name(int kind)
{
	static const struct number_name names[] = {
		{0, "grid_simple"},
		{2, "grid_complex"},
		{3, "grid_complex_spatial_differencing"},
		{4, "grid_ieee"},
		{40, "grid_jpeg"},
		{41, "grid_png"},
		{42, "grid_ccsds"},
		{50, "spectral_simple"},
		{51, "spectral_complex"},
		{53, "bifourier_complex"},
		{61, "grid_simple_log_preprocessing"},
		{200, "grid_run_length"},
		{40000, "grid_jpeg"},
		{40010, "grid_png"},
		{50001, "grid_second_order"},
		{50002, "grid_second_order"},
	};

	return find_name(names, ARRAY_LEN(names), kind, "unknown");
}

static const char *packing_name_1(uint8_t flags)
{
	if (flags & 0x80)
		return flags & 0x40 ? "spectral_complex" : "spectral_simple";
	return flags & 0x40 ? "grid_second_order" : "grid_simple";
}

static const char *grid_name(int kind, bool reduced)
{
	static const struct number_name names[] = {
		{0, "regular_ll"},
		{1, "rotated_ll"},
		{2, "stretched_ll"},
		{3, "stretched_rotated_ll"},
		{10, "mercator"},
		{12, "transverse_mercator"},
		{20, "polar_stereographic"},
		{30, "lambert"},
		{31, "albers"},
		{40, "regular_gg"},
		{41, "rotated_gg"},
		{42, "stretched_gg"},
		{43, "stretched_rotated_gg"},
		{50, "sh"},
		{90, "space_view"},
		{100, "triangular_grid"},
		{101, "unstructured_grid"},
		{140, "lambert_azimuthal_equal_area"},
	};

	if (reduced && kind == 0)
		return "reduced_ll";
	if (reduced && kind == 40)
		return "reduced_gg";
	return find_name(names, ARRAY_LEN(names), kind, "unknown");
}

static const char *grid_name_1(int type)
{
	static const struct number_name names[] = {
		{0, "regular_ll"},	    {1, "mercator"},	{3, "lambert"}, {4, "regular_gg"},
		{5, "polar_stereographic"}, {10, "rotated_ll"}, {50, "sh"},	{90, "space_view"},
	};

	return find_name(names, ARRAY_LEN(names), type, "unknown");
}

/* Surfaces with one name, and those with a value and a unit (code table 4.5). */
struct surface {
	int type;
	const char *text;  /* "%s" stands for the value */
	const char *layer; /* between two of them: "%s" for both values, or NULL */
	double scale;	   /* of the value */
};

static const struct surface surfaces[] = {
	{1, "surface", NULL, 1},
	{2, "cloud base", NULL, 1},
	{3, "cloud top", NULL, 1},
	{4, "0C isotherm", NULL, 1},
	{5, "level of adiabatic condensation from sfc", NULL, 1},
	{6, "max wind", NULL, 1},
	{7, "tropopause", NULL, 1},
	{8, "top of atmosphere", NULL, 1},
	{9, "sea bottom", NULL, 1},
	{10, "entire atmosphere", NULL, 1},
	{11, "cumulonimbus base", NULL, 1},
	{12, "cumulonimbus top", NULL, 1},
	{14, "level of free convection", NULL, 1},
	{20, "%s K level", NULL, 1},
	{100, "%s mb", "%s mb", 0.01},
	{101, "mean sea level", NULL, 1},
	{102, "%s m above mean sea level", "%s m above mean sea level", 1},
	{103, "%s m above ground", "%s m above ground", 1},
	{104, "%s sigma level", "%s sigma layer", 1},
	{105, "%s hybrid level", "%s hybrid layer", 1},
	{106, "%s m underground", "%s m below ground", 1},
	{107, "%s K isentropic level", "%s K isentropic layer", 1},
	{108, "%s mb above ground", "%s mb above ground", 0.01},
	{109, "PV=%s (Km^2/kg/s) surface", NULL, 1},
	{111, "%s Eta level", "%s Eta layer", 1},
	{117, "mixed layer depth", NULL, 1},
	{160, "%s m below sea level", "%s m below sea level", 1},
	{200, "entire atmosphere (considered as a single layer)", NULL, 1},
	{201, "entire ocean (considered as a single layer)", NULL, 1},
	{204, "highest tropospheric freezing level", NULL, 1},
	{206, "grid scale cloud bottom level", NULL, 1},
	{207, "grid scale cloud top level", NULL, 1},
	{209, "boundary layer cloud bottom level", NULL, 1},
	{210, "boundary layer cloud top level", NULL, 1},
	{211, "boundary layer cloud layer", NULL, 1},
	{212, "low cloud bottom level", NULL, 1},
	{213, "low cloud top level", NULL, 1},
	{214, "low cloud layer", NULL, 1},
	{215, "cloud ceiling", NULL, 1},
	{220, "planetary boundary layer", NULL, 1},
	{222, "middle cloud bottom level", NULL, 1},
	{223, "middle cloud top level", NULL, 1},
	{224, "middle cloud layer", NULL, 1},
	{232, "high cloud bottom level", NULL, 1},
	{233, "high cloud top level", NULL, 1},
	{234, "high cloud layer", NULL, 1},
	{235, "%sC ocean isotherm", NULL, 0.1},
	{237, "bottom of ocean mixed layer", NULL, 1},
	{238, "bottom of ocean isothermal layer", NULL, 1},
	{239, "layer ocean surface and 26C ocean isothermal level", NULL, 1},
	{240, "ocean mixed layer", NULL, 1},
	{241, "%s in sequence", NULL, 1},
	{242, "convective cloud bottom level", NULL, 1},
	{243, "convective cloud top level", NULL, 1},
	{244, "convective cloud layer", NULL, 1},
	{245, "lowest level of the wet bulb zero", NULL, 1},
	{246, "maximum equivalent potential temperature level", NULL, 1},
	{247, "equilibrium level", NULL, 1},
	{248, "shallow convective cloud bottom level", NULL, 1},
	{249, "shallow convective cloud top level", NULL, 1},
	{251, "deep convective cloud bottom level", NULL, 1},
	{252, "deep convective cloud top level", NULL, 1},
	{253, "lowest bottom level of supercooled liquid water layer", NULL, 1},
	{254, "highest top level of supercooled liquid water layer", NULL, 1},
	{255, "reserved", NULL, 1},
};

static const struct surface *find_surface(int type)
{
	for (size_t i = 0; i < ARRAY_LEN(surfaces); i++)
		if (surfaces[i].type == type)
			return &surfaces[i];
	return NULL;
}

/* Copies @pattern with its "%s", if any, replaced by @value. */
static void fill_in(const char *pattern, const char *value, char *out, size_t size)
{
	const char *place = strstr(pattern, "%s");

	if (place)
		snprintf(out, size, "%.*s%s%s", (int)(place - pattern), pattern, value, place + 2);
	else
		snprintf(out, size, "%s", pattern);
}

struct level {
	int type;
	double value;
};

/* Type, scale factor and value of a fixed surface; missing ones are all ones. */
static struct level parse_level(const uint8_t *p)
{
	if (p[1] == 255 && be32(p + 2) == UINT32_MAX)
		return (struct level){.type = p[0]};
	return (struct level){
		.type = p[0],
		.value = (double)be_signed(p + 2, 4) * pow(10, -(double)be_signed(p + 1, 1)),
	};
}

static void format_level(const struct level *level, char *out, size_t size)
{
	const struct surface *surface = find_surface(level->type);
	char value[32];

	snprintf(value, sizeof(value), "%g", level->value * (surface ? surface->scale : 1));
	if (surface)
		fill_in(surface->text, value, out, size);
	else
		snprintf(out, size, "local level type %d %s", level->type, value);
}

static void format_levels(const struct level *first, const struct level *second, char *out,
			  size_t size)
{
	const struct surface *surface = find_surface(first->type);
	char one[80], other[80];

	if (second->type == 255) {
		format_level(first, out, size);
		return;
	}
	if (first->type == second->type && surface && surface->layer) {
		snprintf(one, sizeof(one), "%g-%g", first->value * surface->scale,
			 second->value * surface->scale);
		fill_in(surface->layer, one, out, size);
		return;
	}
	format_level(first, one, sizeof(one));
	format_level(second, other, sizeof(other));
	snprintf(out, size, "%.45s - %.45s", one, other);
}

/* Minutes, hours ... and how many of them a unit of code table 4.4 is. */
struct unit {
	int number;
	const char *name;
	int64_t factor;
};

static struct unit find_unit(int number)
{
	static const struct unit units[] = {
		{0, "min", 1},	 {1, "hour", 1},  {2, "day", 1},    {3, "month", 1},
		{4, "year", 1},	 {5, "year", 10}, {6, "year", 30},  {7, "year", 100},
		{10, "hour", 3}, {11, "hour", 6}, {12, "hour", 12}, {13, "sec", 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (units[i].number == number)
			return units[i];
	return (struct unit){number, "unknown-unit", 1};
}

static int64_t in_minutes(const struct unit *unit)
{
	switch (unit->number) {
	case 0:
		return 1;
	case 1:
	case 10:
	case 11:
	case 12:
		return 60 * unit->factor;
	case 2:
		return 1440;
	default:
		return 0;
	}
}

/* Sign and magnitude, or, where that would be beyond all reason, two's complement. */
static int64_t forecast_time(const uint8_t *p)
{
	uint32_t raw = be32(p);
	int64_t value = be_signed(p, 4);

	return value < -(INT64_C(1) << 30) ? (int32_t)raw : value;
}

static void format_instant(int64_t time, int unit_number, char *out, size_t size)
{
	struct unit unit = find_unit(unit_number);

	if (time == 0)
		snprintf(out, size, "anl");
	else
		snprintf(out, size, "%" PRId64 " %s fcst", time * unit.factor, unit.name);
}

static const char *statistic_name(int statistic)
{
	static const struct number_name names[] = {
		{0, "ave"},	   {1, "acc"},	 {2, "max"},	 {3, "min"},
		{4, "last-first"}, {5, "RMS"},	 {6, "std dev"}, {7, "covar"},
		{8, "first-last"}, {9, "ratio"}, {11, "sum"},
	};

	return find_name(names, ARRAY_LEN(names), statistic, "unknown-stat");
}

/* From @start in one unit over @length in another, in the largest unit that divides both ends. */
static void format_window(int64_t start, struct unit start_unit, int64_t length,
			  struct unit length_unit, int statistic, char *out, size_t size)
{
	static const struct number_name names[] = {{1440, "day"}, {60, "hour"}, {1, "min"}};
	int64_t minutes = in_minutes(&start_unit), length_minutes = in_minutes(&length_unit);
	int64_t end;

	if (minutes == 0 || length_minutes == 0) {
		snprintf(out, size, "%" PRId64 "-%" PRId64 " %s %s fcst", start,
			 start + length * length_unit.factor, length_unit.name,
			 statistic_name(statistic));
		return;
	}
	start *= minutes;
	end = start + length * length_minutes;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (start % names[i].number || end % names[i].number)
			continue;
		snprintf(out, size, "%" PRId64 "-%" PRId64 " %s %s fcst", start / names[i].number,
			 end / names[i].number, names[i].name, statistic_name(statistic));
		return;
	}
}

/* Where the parts of a product template are, in octets of section 4; 0: it has none. */
struct product {
	int kind;
	unsigned int shift;    /* of the common part, from octet 12 on */
	unsigned int ensemble; /* type of ensemble forecast, number, size */
	unsigned int derived;  /* derived forecast */
	unsigned int percentile;
	unsigned int probability;
	unsigned int aerosol; /* kind of aerosol, interval of sizes, of wavelengths */
	unsigned int periods; /* interval of wave periods */
	unsigned int ranges;  /* number of time ranges; the first begins 5 octets behind */
};

static const struct product *find_product(int kind)
{
	static const struct product products[] = {
		{0},
		{1, .ensemble = 35},
		{2, .derived = 35},
		{5, .probability = 35},
		{6, .percentile = 35},
		{8, .ranges = 42},
		{9, .probability = 35, .ranges = 55},
		{10, .percentile = 35, .ranges = 43},
		{11, .ensemble = 35, .ranges = 45},
		{12, .derived = 35, .ranges = 44},
		{15},
		{40, .shift = 2},
		{41, .shift = 2, .ensemble = 37},
		{42, .shift = 2, .ranges = 44},
		{43, .shift = 2, .ensemble = 37, .ranges = 47},
		{44, .shift = 13, .aerosol = 12},
		{48, .shift = 24, .aerosol = 12},
		{60, .ensemble = 35},
		{61, .ensemble = 35, .ranges = 52},
		{103, .shift = 11, .periods = 12},
		{104, .shift = 11, .ensemble = 46, .periods = 12},
	};

	for (size_t i = 0; i < ARRAY_LEN(products); i++)
		if (products[i].kind == kind)
			return &products[i];
	return NULL;
}

static void append(char *out, size_t size, const char *text)
{
	size_t used = strlen(out);

	snprintf(out + used, size - used, "%s%s", used ? ":" : "", text);
}

static void describe_ensemble(const uint8_t *p, struct grib_info *info)
{
	char text[48];

	switch (p[0]) {
	case 0:
		append(info->extra, sizeof(info->extra), "ENS=hi-res ctl");
		return;
	case 1:
		append(info->extra, sizeof(info->extra), "ENS=low-res ctl");
		return;
	case 2:
		snprintf(text, sizeof(text), "ENS=-%u", p[1]);
		break;
	case 3:
		snprintf(text, sizeof(text), "ENS=+%u", p[1]);
		break;
	case 4:
		snprintf(text, sizeof(text), "MM-ENS=%u", p[1]);
		break;
	default:
		snprintf(text, sizeof(text), "ENS=? table4.6=%u pert=%u", p[0], p[1]);
	}
	append(info->extra, sizeof(info->extra), text);
}

static void describe_derived(const uint8_t *p, struct grib_info *info)
{
	static const struct number_name names[] = {
		{0, "ens mean"},
		{1, "wt ens mean"},
		{2, "ens std dev"},
		{3, "ens std dev norm"},
		{4, "ens spread"},
		{5, "ens large anom index"},
		{6, "ens mean of cluster"},
	};
	char text[32];

	snprintf(text, sizeof(text), "ens-chem table4.7=%u", p[0]);
	append(info->extra, sizeof(info->extra), find_name(names, ARRAY_LEN(names), p[0], text));
}

static double scaled(const uint8_t *p)
{
	return (double)be_signed(p + 1, 4) * pow(10, -(double)be_signed(p, 1));
}

static void describe_probability(const uint8_t *p, struct grib_info *info)
{
	double lower = scaled(p + 3), upper = scaled(p + 8);
	char text[80];

	switch (p[2]) {
	case 0:
		snprintf(text, sizeof(text), "prob <%g", lower);
		break;
	case 1:
		snprintf(text, sizeof(text), "prob >%g", upper);
		break;
	case 2:
		snprintf(text, sizeof(text), "prob >=%g <%g", lower, upper);
		break;
	case 3:
		snprintf(text, sizeof(text), "prob >%g", lower);
		break;
	case 4:
		snprintf(text, sizeof(text), "prob <%g", upper);
		break;
	default:
		snprintf(text, sizeof(text), "prob type %u", p[2]);
	}
	append(info->extra, sizeof(info->extra), text);
	snprintf(text, sizeof(text), "prob fcst %u/%u", p[0], p[1]);
	append(info->extra, sizeof(info->extra), text);
}

/* An interval (code table 4.91) and its two limits: 11 octets. */
static void describe_interval(const char *what, const uint8_t *p, struct grib_info *info)
{
	double lower = scaled(p + 1), upper = scaled(p + 6);
	static const char *const lower_signs[] = {
		"<", NULL, ">=", ">", NULL, "<=", NULL, ">=", ">=", NULL, ">", "="};
	static const char *const upper_signs[] = {NULL, ">",  "<",  NULL, "<",	NULL,
						  ">=", "<=", NULL, "<=", "<=", NULL};
	const char *first, *second;
	char text[80];

	if (p[0] >= ARRAY_LEN(lower_signs))
		return;
	first = lower_signs[p[0]];
	second = upper_signs[p[0]];
	if (first && second)
		snprintf(text, sizeof(text), "%s %s%g,%s%g", what, first, lower, second, upper);
	else if (first)
		snprintf(text, sizeof(text), "%s %s%g", what, first, lower);
	else
		snprintf(text, sizeof(text), "%s %s%g", what, second, upper);
	append(info->extra, sizeof(info->extra), text);
}

static void describe_aerosol(const uint8_t *p, struct grib_info *info)
{
	static const struct number_name names[] = {
		{62000, "Total Aerosol"},    {62001, "Dust Dry"},
		{62006, "Sulphate Dry"},     {62008, "Sea Salt Dry"},
		{62009, "Black Carbon Dry"}, {62010, "Particulate Organic Matter Dry"},
	};
	char number[16], text[64];

	snprintf(number, sizeof(number), "%u", (unsigned int)be16(p));
	snprintf(text, sizeof(text), "aerosol=%s",
		 find_name(names, ARRAY_LEN(names), (int)be16(p), number));
	append(info->extra, sizeof(info->extra), text);
	describe_interval("aerosol_size", p + 2, info);
	/* Only where it is optical. */
	if (info->product_template == 48)
		describe_interval("aerosol_wavelength", p + 13, info);
}

static bool has(struct slice section, unsigned int octet, unsigned int n)
{
	return octet > 0 && section.size >= octet - 1 + n;
}

static void describe_time(struct slice s4, const struct product *product, struct grib_info *info)
{
	unsigned int ranges = product->ranges, spec = ranges + 5;
	int unit = *OCTET(s4, 18 + product->shift);
	int64_t time = forecast_time(OCTET(s4, 19 + product->shift));

	/* At hour 0 some producers write no time range at all. */
	if (ranges == 0 || !has(s4, spec, 7) || *OCTET(s4, ranges) == 0) {
		format_instant(time, unit, info->time, sizeof(info->time));
		return;
	}
	format_window(time, find_unit(unit), be32(OCTET(s4, spec + 3)),
		      find_unit(*OCTET(s4, spec + 2)), *OCTET(s4, spec), info->time,
		      sizeof(info->time));
}

static void describe_product(const struct grib_headers *h, struct grib_info *info)
{
	const struct product *product;
	struct slice s4 = h->s4;
	char text[32];

	snprintf(info->level, sizeof(info->level), "unknown level");
	snprintf(info->time, sizeof(info->time), "unknown time");
	if (s4.size < 11)
		return;
	info->product_template = (int)be16(OCTET(s4, 8));
	info->category = *OCTET(s4, 10);
	info->number = *OCTET(s4, 11);
	if (!grib_parameter_name(info->discipline, info->category, info->number, info->parameter,
				 sizeof(info->parameter)))
		snprintf(info->parameter, sizeof(info->parameter),
			 "var discipline=%d center=%d local_table=%d parmcat=%d parm=%d",
			 info->discipline, info->centre, info->local_table, info->category,
			 info->number);
	product = find_product(info->product_template);
	if (!product || !has(s4, 34 + product->shift, 1))
		return;
	struct level first = parse_level(OCTET(s4, 23 + product->shift));
	struct level second = parse_level(OCTET(s4, 29 + product->shift));

	format_levels(&first, &second, info->level, sizeof(info->level));
	describe_time(s4, product, info);
	/* The common part, which is there, lies behind these. */
	if (product->aerosol)
		describe_aerosol(OCTET(s4, product->aerosol), info);
	if (product->periods)
		describe_interval("wave_period", OCTET(s4, product->periods), info);
	if (has(s4, product->ensemble, 3))
		describe_ensemble(OCTET(s4, product->ensemble), info);
	if (has(s4, product->derived, 2))
		describe_derived(OCTET(s4, product->derived), info);
	if (has(s4, product->percentile, 1)) {
		snprintf(text, sizeof(text), "%u%% level", *OCTET(s4, product->percentile));
		append(info->extra, sizeof(info->extra), text);
	}
	if (has(s4, product->probability, 13))
		describe_probability(OCTET(s4, product->probability), info);
}

/* Reference time and the text of it; what is no date gives 0 and the digits as they are. */
static void describe_date(const struct civil *date, struct grib_info *info)
{
	int used = snprintf(info->date, sizeof(info->date), "d=%04d%02d%02d%02d", (int)date->year,
			    date->month, date->day, date->hour);

	if (used > 0 && (size_t)used < sizeof(info->date) && (date->minute || date->second))
		used += snprintf(info->date + used, sizeof(info->date) - (size_t)used, "%02d",
				 date->minute);
	if (used > 0 && (size_t)used < sizeof(info->date) && date->second)
		snprintf(info->date + used, sizeof(info->date) - (size_t)used, "%02d",
			 date->second);
	if (date->month >= 1 && date->month <= 12 && date->day >= 1 && date->day <= 31 &&
	    date->hour < 24 && date->minute < 60 && date->second < 61)
		info->reference_time = time_from_civil(date);
}

static void describe_edition_2(const struct grib_headers *h, struct grib_info *info)
{
	struct grib_grid grid = {.kind = -1};
	struct slice s1 = h->s1;

	info->discipline = h->discipline;
	if (s1.size >= 19) {
		struct civil date = {.year = (int64_t)be16(OCTET(s1, 13)),
				     .month = *OCTET(s1, 15),
				     .day = *OCTET(s1, 16),
				     .hour = *OCTET(s1, 17),
				     .minute = *OCTET(s1, 18),
				     .second = *OCTET(s1, 19)};

		info->centre = (int)be16(OCTET(s1, 6));
		info->subcentre = (int)be16(OCTET(s1, 8));
		info->local_table = *OCTET(s1, 11);
		describe_date(&date, info);
	}
	if (h->s3.size >= 14) {
		grib_grid_parse(h->s3, &grid);
		info->n_points = be32(OCTET(h->s3, 7));
		info->grid = grid_name(grid.kind, has(h->s3, 34, 1) && *OCTET(h->s3, 11) != 0);
	}
	info->grid_template = grid.kind;
	info->ni = grid.ni;
	info->nj = grid.nj;
	info->scan = grid.scan;
	if (h->s5.size >= 11) {
		info->packing_template = (int)be16(OCTET(h->s5, 10));
		info->packing = packing_name(info->packing_template);
		info->n_values = be32(OCTET(h->s5, 6));
	}
	if (h->s5.size >= 20)
		info->bits_per_value = *OCTET(h->s5, 20);
	describe_product(h, info);
}

static void describe_level_1(struct slice pds, struct grib_info *info)
{
	int type = *OCTET(pds, 10);
	uint32_t value = be16(OCTET(pds, 11)), top = *OCTET(pds, 11), bottom = *OCTET(pds, 12);
	size_t size = sizeof(info->level);

	switch (type) {
	case 100:
		snprintf(info->level, size, "%u mb", value);
		return;
	case 102:
		snprintf(info->level, size, "mean sea level");
		return;
	case 103:
		snprintf(info->level, size, "%u m above mean sea level", value);
		return;
	case 105:
		snprintf(info->level, size, "%u m above ground", value);
		return;
	case 109:
		snprintf(info->level, size, "%u hybrid level", value);
		return;
	case 111:
		snprintf(info->level, size, "%g m underground", value / 100.0);
		return;
	case 112:
		snprintf(info->level, size, "%g-%g m below ground", top / 100.0, bottom / 100.0);
		return;
	case 116:
		snprintf(info->level, size, "%u-%u mb above ground", top, bottom);
		return;
	default:
		break;
	}
	if (find_surface(type) && !find_surface(type)->layer)
		snprintf(info->level, size, "%s", find_surface(type)->text);
	else
		snprintf(info->level, size, "level type %d %u", type, value);
}

static void describe_time_1(struct slice pds, struct grib_info *info)
{
	/* Code table 4 of edition 1 differs from 4.4 of edition 2 for seconds only. */
	int unit = *OCTET(pds, 18) == 254 ? 13 : *OCTET(pds, 18);
	int64_t p1 = *OCTET(pds, 19), p2 = *OCTET(pds, 20);
	int statistic;

	switch (*OCTET(pds, 21)) {
	case 2:
		statistic = -1;
		break;
	case 3:
		statistic = 0;
		break;
	case 4:
		statistic = 1;
		break;
	case 5:
		statistic = 4;
		break;
	case 10:
		format_instant((int64_t)be16(OCTET(pds, 19)), unit, info->time, sizeof(info->time));
		return;
	default:
		format_instant(p1, unit, info->time, sizeof(info->time));
		return;
	}
	if (statistic < 0)
		snprintf(info->time, sizeof(info->time), "%" PRId64 "-%" PRId64 " %s fcst",
			 p1 * find_unit(unit).factor, p2 * find_unit(unit).factor,
			 find_unit(unit).name);
	else
		format_window(p1, find_unit(unit), p2 - p1, find_unit(unit), statistic, info->time,
			      sizeof(info->time));
}

static void describe_edition_1(const struct grib_headers *h, struct grib_info *info)
{
	struct slice pds = h->s1, gds = h->s3;

	info->product_template = info->packing_template = -1;
	info->grid_template = -1;
	if (pds.size >= 28) {
		struct civil date = {.year = (*OCTET(pds, 25) - 1) * 100 + *OCTET(pds, 13),
				     .month = *OCTET(pds, 14),
				     .day = *OCTET(pds, 15),
				     .hour = *OCTET(pds, 16),
				     .minute = *OCTET(pds, 17)};

		info->category = *OCTET(pds, 4);
		info->centre = *OCTET(pds, 5);
		info->subcentre = *OCTET(pds, 26);
		info->number = *OCTET(pds, 9);
		if (!grib_parameter_name_1(info->centre, info->category, info->number,
					   info->parameter, sizeof(info->parameter)))
			snprintf(info->parameter, sizeof(info->parameter),
				 "var table=%d center=%d parm=%d", info->category, info->centre,
				 info->number);
		describe_date(&date, info);
		describe_level_1(pds, info);
		describe_time_1(pds, info);
	}
	if (gds.size >= 28) {
		info->grid_template = *OCTET(gds, 6);
		info->grid = grid_name_1(info->grid_template);
		info->scan = *OCTET(gds, 28);
		if (be16(OCTET(gds, 7)) != UINT16_MAX && be16(OCTET(gds, 9)) != UINT16_MAX) {
			info->ni = be16(OCTET(gds, 7));
			info->nj = be16(OCTET(gds, 9));
		}
		info->n_points = (uint64_t)info->ni * info->nj;
	}
	if (h->s5.size >= 11) {
		info->packing = packing_name_1(*OCTET(h->s5, 4));
		info->bits_per_value = *OCTET(h->s5, 11);
		info->n_values = info->n_points;
	}
}

/* Whether a direct decoder would be found, from what the headers say. */
static bool is_direct(const struct grib_info *info)
{
	if (info->edition == 1)
		return strcmp(info->packing, "grid_simple") == 0;
	switch (info->packing_template) {
	case 0:
	case 2:
	case 3:
	case 41:
	case 42:
		return true;
	case 40:
		return info->bits_per_value == 0;
	default:
		return false;
	}
}

void grib_describe(const struct grib_headers *headers, struct grib_info *ret_info)
{
	*ret_info = (struct grib_info){
		.edition = headers->edition,
		.packing = "unknown",
		.grid = "unknown",
		.product_template = -1,
		.packing_template = -1,
		.has_bitmap = headers->has_bitmap,
	};
	if (headers->edition == 1)
		describe_edition_1(headers, ret_info);
	else
		describe_edition_2(headers, ret_info);
	ret_info->direct = is_direct(ret_info);
}

int grib_inspect(struct slice message, struct grib_info *ret_info, struct error *err)
{
	struct grib_message m;
	int r;

	r = grib_message_parse(message, GRIB_WMO, &m, err);
	if (r < 0)
		return r;
	grib_describe(
		&(struct grib_headers){
			.edition = m.edition,
			.discipline = m.whole.data[6],
			.s1 = m.section[1],
			.s3 = m.section[3],
			.s4 = m.section[4],
			.s5 = m.edition == 1 ? m.section[7] : m.section[5],
			.has_bitmap = m.bitmap != NULL,
		},
		ret_info);
	return 0;
}
