/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

struct network {
	uint8_t prefix[16];
	unsigned int bits;
};

static const struct network reserved_v4[] = {
	{{0}, 8},	  {{10}, 8},	   {{100, 64}, 10},	 {{127}, 8},
	{{169, 254}, 16}, {{172, 16}, 12}, {{192, 0, 0}, 24},	 {{192, 0, 2}, 24},
	{{192, 168}, 16}, {{198, 18}, 15}, {{198, 51, 100}, 24}, {{203, 0, 113}, 24},
	{{224}, 4},	  {{240}, 4},
};

static const struct network reserved_v6[] = {
	{{0}, 96},			/* unspecified, loopback, IPv4-compatible */
	{{0x01, 0x00}, 64},		/* discard */
	{{0x20, 0x01, 0x00, 0x00}, 32}, /* Teredo */
	{{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
	{{0xfc}, 7},			/* unique local */
	{{0xfe, 0x80}, 10},		/* link-local */
	{{0xfe, 0xc0}, 10},		/* site-local */
	{{0xff}, 8},			/* multicast */
};

static bool network_has(const struct network *network, const uint8_t *address)
{
	for (unsigned int i = 0; i < network->bits; i++)
		if ((network->prefix[i / 8] ^ address[i / 8]) & (0x80 >> (i % 8)))
			return false;
	return true;
}

static bool v4_is_public(const uint8_t *address)
{
	for (size_t i = 0; i < ARRAY_LEN(reserved_v4); i++)
		if (network_has(&reserved_v4[i], address))
			return false;
	return true;
}

/* An IPv4 address inside an IPv6 one counts as what it is. */
static const uint8_t *v6_embedded_v4(const uint8_t *address)
{
	static const struct network mapped = {{[10] = 0xff, [11] = 0xff}, 96};
	static const struct network nat64 = {{0x00, 0x64, 0xff, 0x9b}, 96};
	static const struct network sixtofour = {{0x20, 0x02}, 16};

	if (network_has(&mapped, address) || network_has(&nat64, address))
		return address + 12;
	return network_has(&sixtofour, address) ? address + 2 : NULL;
}

static bool v6_is_public(const uint8_t *address)
{
	const uint8_t *v4 = v6_embedded_v4(address);

	if (v4)
		return v4_is_public(v4);
	for (size_t i = 0; i < ARRAY_LEN(reserved_v6); i++)
		if (network_has(&reserved_v6[i], address))
			return false;
	return true;
}

bool address_is_public(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, address, sizeof(v4));
		return v4_is_public((const uint8_t *)&v4.sin_addr);
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, address, sizeof(v6));
		return v6_is_public((const uint8_t *)&v6.sin6_addr);
	}
	return false;
}

bool address_text_is_public(const char *text)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		return v4_is_public(bytes);
	if (inet_pton(AF_INET6, text, bytes) == 1)
		return v6_is_public(bytes);
	return false;
}

bool address_is_literal(const char *text)
{
	uint8_t bytes[16];

	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}
