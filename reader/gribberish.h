/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The Zarr codec `gribberish`: a GRIB message to the array it holds
 *
 * Joins the codec chains through the registry, so that the zarr layer knows no weather format.
 * Its configuration has `var`, `adjust_longitude_range` and `north_up`; all may be missing.
 * Source: formats/grib-decode of the public codec, version 1.9.0.
 *
 * Threads: any.
 */

#include <stdatomic.h>

#include "grib/worker.h"
#include "zarr/codec.h"

struct gribberish_context {
	enum grib_mode mode;
	struct grib_workers *workers; /* where eccodes runs; NULL = in this process */
	uint32_t timeout_ms;	      /* of one decode in a worker, waiting for one included */
	atomic_uint_fast64_t decodes;
};

/* Its table; the context of the registry is a struct gribberish_context. */
extern const struct zarr_codec_ops gribberish_codec;
