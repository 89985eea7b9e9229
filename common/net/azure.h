/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Credentials and request signing for Azure Blob Storage
 *
 * Order: account key (AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_KEY, AZURE_STORAGE_ACCESS_KEY, or in
 * AZURE_STORAGE_CONNECTION_STRING), shared access signature (AZURE_STORAGE_SAS_TOKEN,
 * AZURE_STORAGE_SAS_KEY), workload identity (AZURE_FEDERATED_TOKEN_FILE), client secret
 * (AZURE_CLIENT_SECRET), managed identity (IDENTITY_ENDPOINT or the metadata service).
 *
 * Threads: any.
 */

#include "net/credentials.h"
#include "net/engine.h"

/*
 * What credentials hold: id and secret for an account key; id NULL and secret for a shared access
 * signature (a query without '?'); a token for the rest.
 */
int azure_keyring_new(const char *account, struct keyring **ret_keyring, struct error *err);
/* Asks once and tells the story. */
int azure_explain(const char *account, struct buf *story, struct credentials **ret_credentials,
		  struct error *err);

/* A member of AZURE_STORAGE_CONNECTION_STRING such as "AccountName"; NULL if absent. */
char *azure_connection_member(const char *name);

/*
 * Adds the Authorization of an account key ("Authorize with Shared Key", Azure Storage reference)
 * to @headers, which are complete; @target is path and query as sent.
 */
int azure_sign(const struct credentials *credentials, const char *method, const char *target,
	       struct slice body, struct http_lines *headers, struct error *err);
