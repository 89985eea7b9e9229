/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* 0x1edc6f41 with its bits reversed */

/* Portable: eight tables, the n-th for a byte that n more bytes follow ("slicing by 8"). */

static uint32_t tables[8][256];

static void tables_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][i] = crc;
	}
	for (int n = 1; n < 8; n++) {
		for (int i = 0; i < 256; i++)
			tables[n][i] = tables[n - 1][i] >> 8 ^ tables[0][tables[n - 1][i] & 255];
	}
}

static uint64_t load64(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

static uint32_t portable_step8(uint32_t crc, const uint8_t *bytes)
{
	uint64_t word = load64(bytes) ^ crc;

	crc = 0;
	for (int i = 0; i < 8; i++)
		crc ^= tables[7 - i][word >> 8 * i & 255];
	return crc;
}

uint32_t crc32c_portable(struct slice bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t crc = UINT32_MAX;
	size_t i = 0;

	pthread_once(&once, tables_init);
	for (; bytes.size - i >= 8; i += 8)
		crc = portable_step8(crc, bytes.data + i);
	for (; i < bytes.size; i++)
		crc = crc >> 8 ^ tables[0][(crc ^ bytes.data[i]) & 255];
	return ~crc;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

static bool cpu_has_crc32c(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_cpu(struct slice bytes)
{
	uint64_t crc = UINT32_MAX;
	size_t i = 0;

	for (; bytes.size - i >= 8; i += 8)
		crc = _mm_crc32_u64(crc, load64(bytes.data + i));
	for (; i < bytes.size; i++)
		crc = _mm_crc32_u8((uint32_t)crc, bytes.data[i]);
	return ~(uint32_t)crc;
}

#elif defined(__aarch64__)

#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

static bool cpu_has_crc32c(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

__attribute__((target("+crc"))) static uint32_t crc32c_cpu(struct slice bytes)
{
	uint32_t crc = UINT32_MAX;
	size_t i = 0;

	for (; bytes.size - i >= 8; i += 8)
		crc = __crc32cd(crc, load64(bytes.data + i));
	for (; i < bytes.size; i++)
		crc = __crc32cb(crc, bytes.data[i]);
	return ~crc;
}

#else

static bool cpu_has_crc32c(void)
{
	return false;
}

static uint32_t crc32c_cpu(struct slice bytes)
{
	return crc32c_portable(bytes);
}

#endif

uint32_t crc32c(struct slice bytes)
{
	return cpu_has_crc32c() ? crc32c_cpu(bytes) : crc32c_portable(bytes);
}
