/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which addresses are public
 *
 * What a repository names must not make us talk to the machine itself, to its neighbours or to a
 * metadata service.  Sources: the IANA special-purpose address registries (RFC 6890).
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <sys/socket.h>

/* False for loopback, link-local, private, shared, multicast and reserved addresses. */
bool address_is_public(const struct sockaddr *address);
/* As above for an address as text; false for what is no address. */
bool address_text_is_public(const char *text);
/* An IPv4 or IPv6 address as text, no name? */
bool address_is_literal(const char *text);
