/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Credentials, region and endpoint for S3, found as the AWS tools find them
 *
 * Order: the environment, web identity (IRSA), the profile in the shared files (keys,
 * credential_process, web identity, a role with its source), the container endpoint (ECS, EKS
 * pod identity), the instance's metadata (IMDSv2).  A profile that is named explicitly goes
 * before the environment.
 *
 * Threads: any.
 */

#include "net/credentials.h"

struct aws_options {
	const char *profile; /* NULL: AWS_PROFILE, else "default" */
	const char *region;  /* NULL: found out */
};

/* A keyring on the chain.  Copies the options. */
int aws_keyring_new(const struct aws_options *options, struct keyring **ret_keyring,
		    struct error *err);

/* Asks the chain once and tells its @story. */
int aws_explain(const struct aws_options *options, struct buf *story,
		struct credentials **ret_credentials, struct error *err);

/*
 * The region by option, AWS_REGION, AWS_DEFAULT_REGION or profile; NULL if none says one.  The
 * caller frees it.  @ret_source (may be NULL) is set to where it came from.
 */
char *aws_region(const struct aws_options *options, const char **ret_source);

/* The endpoint by AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or profile; NULL if none says one. */
char *aws_endpoint(const struct aws_options *options, const char **ret_source);
