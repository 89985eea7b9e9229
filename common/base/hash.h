/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hashes (libcrypto) and CRC-32C.  Threads: any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define SHA256_SIZE 32

/* ERR_MEMORY, for libcrypto fails for want of nothing else. */
int sha256(struct slice bytes, uint8_t ret_digest[SHA256_SIZE], struct error *err);
int hmac_sha256(struct slice key, struct slice bytes, uint8_t ret_mac[SHA256_SIZE],
		struct error *err);
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4) of @bytes. */
uint32_t crc32c(struct slice bytes);
/* The same without the CPU's instruction, which crc32c() uses where there is one. */
uint32_t crc32c_portable(struct slice bytes);
/* Standard base64 with padding; appended to @out. */
int base64_encode(struct slice bytes, struct buf *out, struct error *err);
/* ERR_FORMAT on anything that is not canonical base64. */
int base64_decode(struct slice text, struct buf *out, struct error *err);
