/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every source of credentials, with its service played by a server on loopback.  Requests and
 * answers: the documentation of the AWS SDKs ("Standardized credential providers"), RFC 7523 and
 * the metadata services of Google and Azure.
 */
#include "test.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/time.h"
#include "harness/bad-server.h"
#include "net/aws.h"
#include "net/azure.h"
#include "net/google.h"

#define FUTURE "2099-01-01T00:00:00Z"

static char folder[] = "/tmp/refmt-cred-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
	static char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	return path;
}

static int forget(void **state)
{
	static const char *const names[] = {
		"AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",
		"AWS_PROFILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_ROLE_ARN",
		"AWS_ENDPOINT_URL_STS",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT",
		"AWS_REGION",
		"AWS_DEFAULT_REGION",
		"GOOGLE_APPLICATION_CREDENTIALS",
		"GOOGLE_SERVICE_ACCOUNT",
		"GOOGLE_SERVICE_ACCOUNT_PATH",
		"GOOGLE_SERVICE_ACCOUNT_KEY",
		"GCE_METADATA_HOST",
		"AZURE_STORAGE_ACCOUNT_KEY",
		"AZURE_STORAGE_KEY",
		"AZURE_STORAGE_ACCESS_KEY",
		"AZURE_STORAGE_SAS_TOKEN",
		"AZURE_STORAGE_SAS_KEY",
		"AZURE_STORAGE_CONNECTION_STRING",
		"AZURE_FEDERATED_TOKEN_FILE",
		"AZURE_CLIENT_ID",
		"AZURE_TENANT_ID",
		"AZURE_CLIENT_SECRET",
		"AZURE_AUTHORITY_HOST",
		"IDENTITY_ENDPOINT",
		"IDENTITY_HEADER",
		"AZURE_POD_IDENTITY_AUTHORITY_HOST",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	setenv("CLOUDSDK_CONFIG", "/nonexistent", 1);
	return 0;
}

static void set_url(const char *name, const struct bad_server *server, const char *path)
{
	char url[200];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", bad_server_port(server), path);
	setenv(name, url, 1);
}

static void assert_aws(const struct aws_options *options, const char *id, const char *token)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	assert_ok(aws_explain(options, NULL, &credentials, &err), &err);
	assert_string_equal(credentials->id, id);
	assert_string_equal(credentials->secret, "secret");
	if (token)
		assert_string_equal(credentials->token, token);
	else
		assert_null(credentials->token);
}

static const struct aws_options none;

static void test_aws_environment(void **state)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(aws_explain(&none, NULL, &credentials, &err), CREDENTIALS_NONE);
	setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
	assert_int_equal(aws_explain(&none, NULL, &credentials, &err), ERR_DENIED);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	assert_aws(&none, "AKIA1", NULL);
	setenv("AWS_SESSION_TOKEN", "token", 1);
	assert_aws(&none, "AKIA1", "token");
}

static void test_aws_profiles(void **state)
{
	const struct aws_options named = {.profile = "work"};
	const struct aws_options missing = {.profile = "nobody"};
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(freep) char *region = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	setenv("AWS_SHARED_CREDENTIALS_FILE",
	       write_file("credentials", "# comment\n[default]\naws_access_key_id = AKIA2\n"
					 "aws_secret_access_key=secret\n\n[ work ]\n"
					 "AWS_ACCESS_KEY_ID= AKIA3 ; a comment\n"
					 "aws_secret_access_key = secret\naws_session_token = t\n"),
	       1);
	assert_aws(&none, "AKIA2", NULL);
	assert_aws(&named, "AKIA3", "t");
	setenv("AWS_PROFILE", "work", 1);
	assert_aws(&none, "AKIA3", "t");
	/* A profile that is named explicitly goes before the environment, the variable does not. */
	setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	assert_aws(&none, "AKIA1", NULL);
	assert_aws(&named, "AKIA3", "t");
	assert_int_equal(aws_explain(&missing, NULL, &credentials, &err), ERR_DENIED);
	assert_non_null(strstr(err.text, "'nobody'"));
	setenv("AWS_CONFIG_FILE",
	       write_file("config", "[profile work]\ns3 =\n  region = wrong\nregion = eu-west-3\n"),
	       1);
	region = aws_region(&named, NULL);
	assert_string_equal(region, "eu-west-3");
}

static void test_aws_credential_process(void **state)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	setenv("AWS_CONFIG_FILE",
	       write_file("config", "[default]\ncredential_process = echo '{\"Version\":1,"
				    "\"AccessKeyId\":\"AKIA4\",\"SecretAccessKey\":\"secret\","
				    "\"SessionToken\":\"t\",\"Expiration\":\"" FUTURE "\"}'\n"),
	       1);
	assert_aws(&none, "AKIA4", "t");
	setenv("AWS_CONFIG_FILE", write_file("config", "[default]\ncredential_process = exit 3\n"),
	       1);
	assert_int_equal(aws_explain(&none, NULL, &credentials, &err), ERR_DENIED);
}

static void sts(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char body[4096], authorization[4096], answer[4096];
	const char *action = "";

	snprintf(body, sizeof(body), "%.*s", (int)q->body.size, (const char *)q->body.data);
	bad_header(q, "Authorization", authorization);
	if (strstr(body, "Action=AssumeRoleWithWebIdentity") &&
	    strstr(body, "WebIdentityToken=the%20token") && strstr(body, "RoleArn=arn%3Arole"))
		action = "AssumeRoleWithWebIdentity";
	else if (strstr(body, "Action=AssumeRole&") && strstr(authorization, "/us-east-1/sts/") &&
		 strstr(authorization, "Credential=AKIA5/"))
		action = "AssumeRole";
	snprintf(argument, 100, "%s", action);
	snprintf(answer, sizeof(answer),
		 "<%sResponse xmlns=\"x\"><%sResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>"
		 "<SecretAccessKey>secret</SecretAccessKey><SessionToken>st</SessionToken>"
		 "<Expiration>" FUTURE "</Expiration></Credentials></%sResult></%sResponse>",
		 action, action, action, action);
	bad_reply_text(c, action[0] ? 200 : 400, "", answer);
}

static void test_aws_web_identity(void **state)
{
	char seen[100] = "";
	CLEANUP(bad_server_stopp) struct bad_server *server = bad_server_start(sts, seen, NULL);

	(void)state;
	set_url("AWS_ENDPOINT_URL_STS", server, "");
	setenv("AWS_ROLE_ARN", "arn:role", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write_file("token", "the token\n"), 1);
	assert_aws(&none, "ASIA1", "st");
	assert_string_equal(seen, "AssumeRoleWithWebIdentity");
}

static void test_aws_role_of_a_profile(void **state)
{
	char seen[100] = "";
	CLEANUP(bad_server_stopp) struct bad_server *server = bad_server_start(sts, seen, NULL);
	const struct aws_options named = {.profile = "work"};
	const struct aws_options circle = {.profile = "a"};
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	set_url("AWS_ENDPOINT_URL_STS", server, "");
	setenv("AWS_CONFIG_FILE",
	       write_file("config", "[profile work]\nrole_arn = arn:x\nsource_profile = base\n"
				    "[profile base]\naws_access_key_id = AKIA5\n"
				    "aws_secret_access_key = secret\n"
				    "[profile a]\nrole_arn = arn:a\nsource_profile = b\n"
				    "[profile b]\nrole_arn = arn:b\nsource_profile = a\n"),
	       1);
	assert_aws(&named, "ASIA1", "st");
	assert_string_equal(seen, "AssumeRole");
	assert_int_equal(aws_explain(&circle, NULL, &credentials, &err), ERR_DENIED);
}

static void container(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char authorization[4096];

	(void)argument;
	bad_header(q, "Authorization", authorization);
	if (strcmp(authorization, "the token") != 0)
		bad_reply_text(c, 401, "", "");
	else
		bad_reply_text(c, 200, "",
			       "{\"AccessKeyId\":\"ASIA2\",\"SecretAccessKey\":\"secret\","
			       "\"Token\":\"ct\",\"Expiration\":\"" FUTURE "\"}");
}

static void test_aws_container(void **state)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(container, NULL, NULL);
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", server, "/v2/credentials");
	assert_int_equal(aws_explain(&none, NULL, &credentials, &err), ERR_DENIED);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "the token", 1);
	assert_aws(&none, "ASIA2", "ct");
	unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", write_file("token", "the token\n"), 1);
	assert_aws(&none, "ASIA2", "ct");
	/* The token must not leave the machine. */
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x", 1);
	assert_int_equal(aws_explain(&none, NULL, &credentials, &err), ERR_DENIED);
}

static void instance(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char token[4096];

	(void)argument;
	bad_header(q, "X-aws-ec2-metadata-token", token);
	if (strcmp(q->method, "PUT") == 0 && strcmp(q->target, "/latest/api/token") == 0)
		bad_reply_text(c, 200, "", "session");
	else if (strcmp(token, "session") != 0)
		bad_reply_text(c, 401, "", "");
	else if (strcmp(q->target, "/latest/meta-data/iam/security-credentials/") == 0)
		bad_reply_text(c, 200, "", "the-role\n");
	else if (strcmp(q->target, "/latest/meta-data/iam/security-credentials/the-role") == 0)
		bad_reply_text(
			c, 200, "",
			"{\"Code\":\"Success\",\"AccessKeyId\":\"ASIA3\","
			"\"SecretAccessKey\":\"secret\",\"Token\":\"it\",\"Expiration\":\"" FUTURE
			"\"}");
	else
		bad_reply_text(c, 404, "", "");
}

static void test_aws_instance_metadata(void **state)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(instance, NULL, NULL);

	(void)state;
	unsetenv("AWS_EC2_METADATA_DISABLED");
	set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", server, "/");
	assert_aws(&none, "ASIA3", "it");
}

static void test_aws_nobody_at_the_metadata_address(void **state)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	unsetenv("AWS_EC2_METADATA_DISABLED");
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9", 1);
	assert_int_equal(aws_explain(&none, NULL, &credentials, &err), CREDENTIALS_NONE);
}

/* --- Google --- */

static void google(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char body[8192], flavor[4096];

	(void)argument;
	snprintf(body, sizeof(body), "%.*s", (int)q->body.size, (const char *)q->body.data);
	bad_header(q, "Metadata-Flavor", flavor);
	if (strstr(body, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer") &&
	    strstr(body, "&assertion=eyJ"))
		bad_reply_text(c, 200, "", "{\"access_token\":\"from-key\",\"expires_in\":3599}");
	else if (strstr(body, "grant_type=refresh_token") && strstr(body, "refresh_token=r%2F1") &&
		 strstr(body, "client_secret=s"))
		bad_reply_text(c, 200, "", "{\"access_token\":\"from-user\",\"expires_in\":3599}");
	else if (strcmp(flavor, "Google") == 0 &&
		 strstr(q->target, "service-accounts/default/token"))
		bad_reply_text(c, 200, "Metadata-Flavor: Google\r\n",
			       "{\"access_token\":\"from-machine\",\"expires_in\":3599}");
	else
		bad_reply_text(c, 400, "", "{\"error\":\"invalid_grant\"}");
}

static void assert_google(const char *token)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	assert_ok(google_explain(NULL, &credentials, &err), &err);
	assert_string_equal(credentials->token, token);
	assert_true(llabs(credentials->expires - time_now() - 3599 * TIME_SECOND) <
		    60 * TIME_SECOND);
}

/* A private key in PEM with its line ends as JSON writes them. */
static void rsa_key(char json[8192])
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	BIO *bio = BIO_new(BIO_s_mem());
	char *pem;
	long size;

	PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	size = BIO_get_mem_data(bio, &pem);
	for (long i = 0; i < size; i++) {
		if (pem[i] == '\n')
			*json++ = '\\';
		*json++ = pem[i] == '\n' ? 'n' : pem[i];
	}
	*json = '\0';
	BIO_free(bio);
	EVP_PKEY_free(key);
}

static void test_google_service_account(void **state)
{
	CLEANUP(bad_server_stopp) struct bad_server *server = bad_server_start(google, NULL, NULL);
	char key[8192], text[10000];

	(void)state;
	rsa_key(key);
	snprintf(text, sizeof(text),
		 "{\"type\":\"service_account\",\"client_email\":\"a@b\",\"private_key\":\"%s\","
		 "\"token_uri\":\"http://127.0.0.1:%u/token\"}",
		 key, bad_server_port(server));
	setenv("GOOGLE_APPLICATION_CREDENTIALS", write_file("google", text), 1);
	assert_google("from-key");
	unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
	setenv("GOOGLE_SERVICE_ACCOUNT_KEY", text, 1);
	assert_google("from-key");
}

static void test_google_user(void **state)
{
	CLEANUP(bad_server_stopp) struct bad_server *server = bad_server_start(google, NULL, NULL);
	char text[1000];

	(void)state;
	snprintf(text, sizeof(text),
		 "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\","
		 "\"refresh_token\":\"r/1\",\"token_uri\":\"http://127.0.0.1:%u/token\"}",
		 bad_server_port(server));
	write_file("application_default_credentials.json", text);
	setenv("CLOUDSDK_CONFIG", folder, 1);
	assert_google("from-user");
}

static void test_google_metadata(void **state)
{
	CLEANUP(bad_server_stopp) struct bad_server *server = bad_server_start(google, NULL, NULL);
	char host[50];

	(void)state;
	snprintf(host, sizeof(host), "127.0.0.1:%u", bad_server_port(server));
	setenv("GCE_METADATA_HOST", host, 1);
	assert_google("from-machine");
}

/* --- Azure --- */

static void azure(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char body[8192], metadata[4096], header[4096];

	(void)argument;
	snprintf(body, sizeof(body), "%.*s", (int)q->body.size, (const char *)q->body.data);
	bad_header(q, "Metadata", metadata);
	bad_header(q, "X-IDENTITY-HEADER", header);
	if (strcmp(q->target, "/the-tenant/oauth2/v2.0/token") == 0 &&
	    strstr(body, "client_assertion=the%20token") && strstr(body, "client_id=me"))
		bad_reply_text(c, 200, "", "{\"access_token\":\"workload\",\"expires_in\":3599}");
	else if (strcmp(q->target, "/the-tenant/oauth2/v2.0/token") == 0 &&
		 strstr(body, "client_secret=hush"))
		bad_reply_text(c, 200, "", "{\"access_token\":\"client\",\"expires_in\":3599}");
	else if (strcmp(header, "proof") == 0)
		bad_reply_text(c, 200, "",
			       "{\"access_token\":\"service\",\"expires_in\":\"3599\"}");
	else if (strcmp(metadata, "true") == 0 &&
		 strstr(q->target, "resource=https%3A%2F%2Fstorage.azure.com%2F"))
		bad_reply_text(c, 200, "",
			       "{\"access_token\":\"machine\",\"expires_in\":\"3599\"}");
	else
		bad_reply_text(c, 400, "", "{\"error\":\"invalid_request\"}");
}

static void assert_azure(const char *id, const char *secret, const char *token)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;

	assert_ok(azure_explain("account", NULL, &credentials, &err), &err);
	assert_true(id ? credentials->id && strcmp(credentials->id, id) == 0 : !credentials->id);
	assert_true(secret ? strcmp(credentials->secret, secret) == 0 : !credentials->secret);
	assert_true(token ? strcmp(credentials->token, token) == 0 : !credentials->token);
}

static void test_azure_keys(void **state)
{
	(void)state;
	setenv("AZURE_STORAGE_CONNECTION_STRING",
	       "DefaultEndpointsProtocol=https;AccountName=n;AccountKey=a2V5;EndpointSuffix=x", 1);
	assert_azure("account", "a2V5", NULL);
	unsetenv("AZURE_STORAGE_CONNECTION_STRING");
	setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=x", 1);
	assert_azure(NULL, "sv=1&sig=x", NULL);
	setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5", 1);
	assert_azure("account", "a2V5", NULL);
}

static void test_azure_identities(void **state)
{
	CLEANUP(bad_server_stopp) struct bad_server *server = bad_server_start(azure, NULL, NULL);

	(void)state;
	set_url("AZURE_POD_IDENTITY_AUTHORITY_HOST", server, "");
	assert_azure(NULL, NULL, "machine");
	set_url("IDENTITY_ENDPOINT", server, "/msi");
	setenv("IDENTITY_HEADER", "proof", 1);
	assert_azure(NULL, NULL, "service");
	set_url("AZURE_AUTHORITY_HOST", server, "/");
	setenv("AZURE_CLIENT_ID", "me", 1);
	setenv("AZURE_TENANT_ID", "the-tenant", 1);
	setenv("AZURE_CLIENT_SECRET", "hush", 1);
	assert_azure(NULL, NULL, "client");
	setenv("AZURE_FEDERATED_TOKEN_FILE", write_file("token", "the token\n"), 1);
	assert_azure(NULL, NULL, "workload");
}

/* The request and its signature: "Authorize with Shared Key", with Azurite's published key. */
/* --- answers that make no sense --- */

struct garbage {
	const char *name;
	int status;
	const char *body;
};

static void answer_garbage(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	const struct garbage *garbage = argument;

	/* What comes before the document may be right. */
	if (strcmp(q->target, "/latest/api/token") == 0)
		bad_reply_text(c, 200, "", "session");
	else if (strcmp(q->target, "/latest/meta-data/iam/security-credentials/") == 0)
		bad_reply_text(c, 200, "", "the-role\n");
	else
		bad_reply_text(c, garbage->status, "Metadata-Flavor: Google\r\n", garbage->body);
}

static int ask_aws(struct credentials **ret_credentials, struct error *err)
{
	return aws_explain(&none, NULL, ret_credentials, err);
}

static int ask_google(struct credentials **ret_credentials, struct error *err)
{
	return google_explain(NULL, ret_credentials, err);
}

static int ask_azure(struct credentials **ret_credentials, struct error *err)
{
	return azure_explain("account", NULL, ret_credentials, err);
}

static void use_sts(const struct bad_server *server)
{
	set_url("AWS_ENDPOINT_URL_STS", server, "");
	setenv("AWS_ROLE_ARN", "arn:role", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write_file("token", "the token\n"), 1);
}

static void use_container(const struct bad_server *server)
{
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", server, "/v2/credentials");
}

static void use_instance(const struct bad_server *server)
{
	unsetenv("AWS_EC2_METADATA_DISABLED");
	set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", server, "/");
}

static void use_google_user(const struct bad_server *server)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\","
		 "\"refresh_token\":\"r/1\",\"token_uri\":\"http://127.0.0.1:%u/token\"}",
		 bad_server_port(server));
	setenv("GOOGLE_APPLICATION_CREDENTIALS", write_file("google", text), 1);
}

static void use_google_metadata(const struct bad_server *server)
{
	char host[50];

	snprintf(host, sizeof(host), "127.0.0.1:%u", bad_server_port(server));
	setenv("GCE_METADATA_HOST", host, 1);
}

static void use_azure_machine(const struct bad_server *server)
{
	set_url("AZURE_POD_IDENTITY_AUTHORITY_HOST", server, "");
}

static void use_azure_service(const struct bad_server *server)
{
	set_url("IDENTITY_ENDPOINT", server, "/msi");
	setenv("IDENTITY_HEADER", "proof", 1);
}

static void use_azure_client(const struct bad_server *server)
{
	set_url("AZURE_AUTHORITY_HOST", server, "/");
	setenv("AZURE_CLIENT_ID", "me", 1);
	setenv("AZURE_TENANT_ID", "the-tenant", 1);
	setenv("AZURE_CLIENT_SECRET", "hush", 1);
}

static void use_azure_workload(const struct bad_server *server)
{
	use_azure_client(server);
	unsetenv("AZURE_CLIENT_SECRET");
	setenv("AZURE_FEDERATED_TOKEN_FILE", write_file("token", "the token\n"), 1);
}

static struct provider {
	const char *name;
	void (*use)(const struct bad_server *server);
	int (*ask)(struct credentials **ret_credentials, struct error *err);
} providers[] = {
	{"token service of AWS", use_sts, ask_aws},
	{"container of AWS", use_container, ask_aws},
	{"instance of AWS", use_instance, ask_aws},
	{"user of Google", use_google_user, ask_google},
	{"machine of Google", use_google_metadata, ask_google},
	{"machine of Azure", use_azure_machine, ask_azure},
	{"service of Azure", use_azure_service, ask_azure},
	{"client of Azure", use_azure_client, ask_azure},
	{"workload of Azure", use_azure_workload, ask_azure},
};

#define STS(members)                                                                        \
	"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>" \
	"<AccessKeyId>A</AccessKeyId><SecretAccessKey>hidden</SecretAccessKey>" members     \
	"</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"

/* For every provider: none of this is an answer with credentials. */
static struct garbage garbages[] = {
	{"nothing", 200, ""},
	{"text", 200, "hidden nonsense"},
	{"a portal's page", 200, "<html><body>Please log in</body></html>"},
	{"JSON cut off", 200, "{\"access_token\":\"hidden\",\"AccessKeyId\":\"hid"},
	{"an array", 200, "[\"hidden\"]"},
	{"no members", 200, "{}"},
	{"members of other kinds", 200,
	 "{\"access_token\":{\"a\":1},\"AccessKeyId\":7,\"SecretAccessKey\":null,\"Token\":[]}"},
	{"line ends in a token", 200,
	 "{\"access_token\":\"hidden\\r\\nX: y\",\"expires_in\":3599,\"AccessKeyId\":\"a\\nb\","
	 "\"SecretAccessKey\":\"hidden\",\"Token\":\"x\\r\\ny\",\"Expiration\":\"" FUTURE "\"}"},
	{"an expiry that is none", 200,
	 "{\"access_token\":\"hidden\",\"expires_in\":\"soon\",\"AccessKeyId\":\"a\","
	 "\"SecretAccessKey\":\"hidden\",\"Token\":\"t\",\"Expiration\":\"soon\"}"},
	{"an expiry beyond all times", 200,
	 "{\"access_token\":\"hidden\",\"expires_in\":99999999999999999999,\"AccessKeyId\":\"a\","
	 "\"SecretAccessKey\":\"hidden\",\"Token\":\"t\",\"Expiration\":\"99999999999999999999\"}"},
	{"a bomb", 200,
	 "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>" STS(
		 "<SessionToken>&b;</SessionToken>")},
	{"no session token", 200, STS("")},
	{"an expiry in XML that is none", 200,
	 STS("<SessionToken>t</SessionToken><Expiration>soon</Expiration>")},
	{"line ends in XML", 200, STS("<SessionToken>t\r\nX: y</SessionToken>")},
	{"garbage in an error", 400, "{{{"},
	{"a refusal", 403, "{\"error\":\"no\"}"},
};

static void try_garbage(const struct provider *provider, struct garbage *garbage)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(answer_garbage, garbage, NULL);
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	struct error err = ERROR_INIT;
	int64_t start = time_monotonic();
	int r;

	forget(NULL);
	provider->use(server);
	r = provider->ask(&credentials, &err);
	/* The end of the chain: refused, or nobody has any; never half of something. */
	if (r != ERR_FORMAT && r != ERR_DENIED && r != ERR_NETWORK && r != CREDENTIALS_NONE)
		fail_msg("%s, %s: result %d, error: %s", provider->name, garbage->name, r,
			 err.text);
	if (strstr(err.text, "hidden"))
		fail_msg("%s, %s: error: %s", provider->name, garbage->name, err.text);
	if (bad_server_requests(server) < 1 || bad_server_requests(server) > 9)
		fail_msg("%s, %s: %u requests", provider->name, garbage->name,
			 bad_server_requests(server));
	assert_true(time_monotonic() - start < 5000000);
}

static void test_garbage(void **state)
{
	struct garbage *garbage = *state;

	for (size_t i = 0; i < ARRAY_LEN(providers); i++)
		try_garbage(&providers[i], garbage);
}

static void test_azure_signature(void **state)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(buf_done) struct buf key = BUF_INIT(100);
	CLEANUP(buf_done) struct buf text = BUF_INIT(100);
	const char *secret = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
			     "K1SZFPTOtr/KBHBeksoGMGw==";
	const char *string = "PUT\n\n\n1\n\n\n\n\n\n*\n\n\nx-ms-blob-type:BlockBlob\nx-ms-date:D\n"
			     "/a/c/k%20y\ncomp:block\nx:/";
	struct error err = ERROR_INIT;
	uint8_t mac[SHA256_SIZE];
	char want[200];

	(void)state;
	assert_ok(credentials_new("a", secret, NULL, INT64_MAX, "x", &credentials, &err), &err);
	assert_ok(http_lines_add(&headers, &err, "X-MS-Date: D"), &err);
	assert_ok(http_lines_add(&headers, &err, "If-None-Match: *"), &err);
	assert_ok(http_lines_add(&headers, &err, "x-ms-blob-type: BlockBlob"), &err);
	assert_ok(azure_sign(credentials, "PUT", "/c/k%20y?x=%2F&comp=block", slice_text("1"),
			     &headers, &err),
		  &err);
	assert_ok(base64_decode(slice_text(secret), &key, &err), &err);
	assert_ok(hmac_sha256(buf_slice(&key), slice_text(string), mac, &err), &err);
	assert_ok(base64_encode(slice_of(mac, sizeof(mac)), &text, &err), &err);
	snprintf(want, sizeof(want), "Authorization: SharedKey a:%.*s", (int)text.size,
		 (const char *)text.data);
	assert_string_equal(headers.items[headers.n - 1], want);
}

/* --- the keyring --- */

struct source {
	atomic_uint asked;
	int64_t life; /* microseconds from now */
	bool failing;
};

static int source_fetch(void *argument, struct buf *story, struct credentials **ret_credentials,
			struct error *err)
{
	struct source *source = argument;
	char id[20];

	(void)story;
	snprintf(id, sizeof(id), "%u", ++source->asked);
	usleep(50000);
	if (source->failing)
		return error_set(err, ERR_NETWORK, "source down");
	return credentials_new(id, "s", NULL, time_now() + source->life, "test", ret_credentials,
			       err);
}

static int get_one(void *argument, size_t i, struct error *err)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;

	(void)i;
	return keyring_get(argument, false, &credentials, err);
}

static void test_one_request_at_a_time(void **state)
{
	struct source source = {.life = TIME_HOUR};
	CLEANUP(keyring_freep) struct keyring *keyring = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(keyring_new(source_fetch, &source, NULL, &keyring, &err), &err);
	assert_ok(parallel_for(8, 40, get_one, keyring, &err), &err);
	assert_int_equal(source.asked, 1);
}

static void test_renewed_ahead_of_expiry(void **state)
{
	struct source source = {.life = 60 * TIME_SECOND};
	CLEANUP(keyring_freep) struct keyring *keyring = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(keyring_new(source_fetch, &source, NULL, &keyring, &err), &err);
	assert_ok(get_one(keyring, 0, &err), &err);
	source.life = TIME_HOUR;
	assert_ok(parallel_for(8, 40, get_one, keyring, &err), &err);
	assert_int_equal(source.asked, 2);
}

static void test_old_ones_serve_while_the_source_is_down(void **state)
{
	struct source source = {.life = 60 * TIME_SECOND};
	CLEANUP(keyring_freep) struct keyring *keyring = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(keyring_new(source_fetch, &source, NULL, &keyring, &err), &err);
	assert_ok(get_one(keyring, 0, &err), &err);
	source.failing = true;
	assert_ok(parallel_for(8, 40, get_one, keyring, &err), &err);
	assert_int_equal(source.asked, 2);
}

static void test_expired_ones_are_an_error(void **state)
{
	struct source source = {.life = -TIME_SECOND};
	CLEANUP(keyring_freep) struct keyring *keyring = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(keyring_new(source_fetch, &source, NULL, &keyring, &err), &err);
	assert_int_equal(get_one(keyring, 0, &err), ERR_DENIED);
}

#define CREDENTIALS_TEST(function) cmocka_unit_test_setup(function, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CREDENTIALS_TEST(test_aws_environment),
		CREDENTIALS_TEST(test_aws_profiles),
		CREDENTIALS_TEST(test_aws_credential_process),
		CREDENTIALS_TEST(test_aws_web_identity),
		CREDENTIALS_TEST(test_aws_role_of_a_profile),
		CREDENTIALS_TEST(test_aws_container),
		CREDENTIALS_TEST(test_aws_instance_metadata),
		CREDENTIALS_TEST(test_aws_nobody_at_the_metadata_address),
		CREDENTIALS_TEST(test_google_service_account),
		CREDENTIALS_TEST(test_google_user),
		CREDENTIALS_TEST(test_google_metadata),
		CREDENTIALS_TEST(test_azure_keys),
		CREDENTIALS_TEST(test_azure_identities),
		CREDENTIALS_TEST(test_azure_signature),
		CREDENTIALS_TEST(test_one_request_at_a_time),
		CREDENTIALS_TEST(test_renewed_ahead_of_expiry),
		CREDENTIALS_TEST(test_old_ones_serve_while_the_source_is_down),
		CREDENTIALS_TEST(test_expired_ones_are_an_error),
	};
	char command[300];
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	failed += RUN_CASES(test_garbage, garbages);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) == 0 ? failed : 1;
}
