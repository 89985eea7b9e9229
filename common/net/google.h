/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Credentials for Google Cloud Storage
 *
 * Order: a service account key or a user's refresh token in the file that
 * GOOGLE_APPLICATION_CREDENTIALS (or GOOGLE_SERVICE_ACCOUNT, GOOGLE_SERVICE_ACCOUNT_PATH) names,
 * the key itself in GOOGLE_SERVICE_ACCOUNT_KEY, the application default credentials of gcloud,
 * the metadata service (GCE, GKE workload identity).
 *
 * Threads: any.
 */

#include "net/credentials.h"

int google_keyring_new(struct keyring **ret_keyring, struct error *err);
/* Asks once and tells the story. */
int google_explain(struct buf *story, struct credentials **ret_credentials, struct error *err);
