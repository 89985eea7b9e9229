/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Google's and Azure's stores against servers that do wrong things.  What right answers look like:
 * the JSON API's reference of Objects, and "List Blobs" and "Copy Blob" of the Blob service.
 */
#include "scripted.h"

enum { RESET = -1 }; /* for a status */

struct script {
	const char *name;
	const char *url;
	int (*act)(struct store *store, struct error *err);
	/* Answers in turn, the last one again and again. */
	struct {
		int status;
		const char *headers, *body;
	} answers[4];
	int want;
	unsigned int requests_least, requests_most;
	const char *text; /* in the error */
};

#define GS "gs://bucket/prefix"
#define AZ "az://account/container/prefix"
#define LIST(members) "{\"kind\":\"storage#objects\"" members "}"
#define BLOBS(elements) \
	"<?xml version=\"1.0\"?><EnumerationResults>" elements "</EnumerationResults>"

static int act_head(struct store *store, struct error *err)
{
	struct store_info info;
	int r = store_head(store, "key", &info, err);

	if (r == 0 && info.size != 5)
		return error_set(err, ERR_FORMAT, "wrong size");
	return r;
}

static int act_put(struct store *store, struct error *err)
{
	return store_put(store, "key", slice_text("new"), err);
}

/* The version that the last replacement gave. */
static struct version written;

static int act_replace(struct store *store, struct error *err)
{
	struct version version = {.text = "7"};

	written = (struct version){0};
	return store_replace(store, "key", &version, slice_text("new"), &written, err);
}

static int list_one(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)argument;
	if (strcmp(entry->key, "a") != 0)
		return error_set(err, ERR_FORMAT, "wrong entry");
	return 0;
}

static int act_list(struct store *store, struct error *err)
{
	return store_list(store, "", false, list_one, NULL, err);
}

#define ITEM "{\"name\":\"prefix/a\",\"size\":\"1\",\"generation\":\"7\"}"
#define BLOB "<Blob><Name>prefix/a</Name></Blob>"
#define RANGE "Content-Range: bytes 2-4/10\r\n"
#define DENIED_JSON "{\"error\":{\"message\":\"no\",\"errors\":[{\"reason\":\"forbidden\"}]}}"
#define SLOW_JSON "{\"error\":{\"message\":\"no\",\"errors\":[{\"reason\":\"rateLimitExceeded\"}]}}"
#define NO_BUCKET_JSON "{\"error\":{\"message\":\"The specified bucket does not exist.\"}}"
#define BOMB                                                                           \
	"<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;\">" \
	"<!ENTITY c "                                                                  \
	"\"&b;&b;&b;&b;&b;&b;&b;&b;\">]><EnumerationResults>&c;&c;</EnumerationResults>"
#define AZ_ERROR(code) "<?xml version=\"1.0\"?><Error><Code>" code "</Code></Error>"

static struct script scripts[] = {
	{"gs: a listing", GS, act_list, {{200, "", LIST(",\"items\":[" ITEM "]")}}, 0, 1, 1, NULL},
	{"gs: two pages",
	 GS,
	 act_list,
	 {{200, "", LIST(",\"items\":[" ITEM "],\"nextPageToken\":\"t\"")}, {200, "", LIST("")}},
	 0,
	 2,
	 2,
	 NULL},
	{"gs: garbage for a listing",
	 GS,
	 act_list,
	 {{200, "", "{\"items\":[{\"na"}},
	 ERR_FORMAT,
	 3,
	 3,
	 NULL},
	{"gs: garbage once",
	 GS,
	 act_list,
	 {{200, "", "nonsense"}, {200, "", LIST("")}},
	 0,
	 2,
	 2,
	 NULL},
	{"gs: a portal's page for a listing",
	 GS,
	 act_list,
	 {{200, "", "<html>Log in</html>"}},
	 ERR_FORMAT,
	 3,
	 3,
	 NULL},
	{"gs: other JSON for a listing",
	 GS,
	 act_list,
	 {{200, "", "{\"status\":\"fine\"}"}},
	 ERR_FORMAT,
	 3,
	 3,
	 "not one"},
	{"gs: an array for a listing",
	 GS,
	 act_list,
	 {{200, "", "[]"}},
	 ERR_FORMAT,
	 3,
	 3,
	 "not one"},
	{"gs: items that are none",
	 GS,
	 act_list,
	 {{200, "", LIST(",\"items\":[1,2]")}},
	 ERR_FORMAT,
	 3,
	 3,
	 NULL},
	{"gs: an item without a name",
	 GS,
	 act_list,
	 {{200, "", LIST(",\"items\":[{\"size\":\"1\",\"generation\":\"7\"}]")}},
	 ERR_FORMAT,
	 3,
	 3,
	 "without a key"},
	{"gs: a size that is no number",
	 GS,
	 act_list,
	 {{200, "",
	   LIST(",\"items\":[{\"name\":\"prefix/a\",\"size\":\"x\",\"generation\":\"7\"}]")}},
	 ERR_FORMAT,
	 3,
	 3,
	 NULL},
	/* Left out, the pages that follow would be missing without a word. */
	{"gs: a token that is no text",
	 GS,
	 act_list,
	 {{200, "", LIST(",\"nextPageToken\":17")}},
	 ERR_FORMAT,
	 3,
	 3,
	 NULL},
	{"gs: not asked for",
	 GS,
	 act_list,
	 {{200, "",
	   LIST(",\"items\":[{\"name\":\"other/a\",\"size\":\"1\",\"generation\":\"7\"}]")}},
	 ERR_FORMAT,
	 1,
	 1,
	 "not asked for"},
	{"gs: a listing in a circle",
	 GS,
	 act_list,
	 {{200, "", LIST(",\"nextPageToken\":\"t\"")}},
	 ERR_FORMAT,
	 2,
	 2,
	 "circle"},
	{"gs: nested without end",
	 GS,
	 act_list,
	 {{200, "",
	   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}},
	 ERR_FORMAT,
	 3,
	 3,
	 NULL},
	{"gs: no bucket", GS, act_list, {{404, "", NO_BUCKET_JSON}}, ERR_ABSENT, 1, 1, "no bucket"},
	{"gs: a range", GS, act_get, {{206, RANGE, "234"}}, 0, 1, 1, NULL},
	{"gs: no such object", GS, act_get, {{404, "", "Not Found"}}, STORE_ABSENT, 1, 1, NULL},
	{"gs: no such bucket is no absent object",
	 GS,
	 act_get,
	 {{404, "", NO_BUCKET_JSON}},
	 ERR_ABSENT,
	 1,
	 1,
	 "no bucket"},
	{"gs: denied", GS, act_get, {{403, "", DENIED_JSON}}, ERR_DENIED, 1, 1, "no"},
	{"gs: garbage in an error", GS, act_get, {{403, "", "{{{{"}}, ERR_DENIED, 1, 1, "403"},
	{"gs: 403 means slower",
	 GS,
	 act_get,
	 {{403, "", SLOW_JSON}, {206, RANGE, "234"}},
	 0,
	 2,
	 2,
	 NULL},
	{"gs: 429, then 200", GS, act_get, {{429, "", ""}, {206, RANGE, "234"}}, 0, 2, 2, NULL},
	{"gs: 503 and a reset, then 200",
	 GS,
	 act_get,
	 {{503, "", ""}, {RESET, "", ""}, {206, RANGE, "234"}},
	 0,
	 3,
	 3,
	 NULL},
	{"gs: garbage for metadata",
	 GS,
	 act_head,
	 {{200, "", "{\"size\":"}},
	 ERR_FORMAT,
	 1,
	 1,
	 NULL},
	{"gs: metadata without a size",
	 GS,
	 act_head,
	 {{200, "", "{\"generation\":\"7\"}"}},
	 ERR_FORMAT,
	 1,
	 1,
	 "without size"},
	{"gs: metadata",
	 GS,
	 act_head,
	 {{200, "", "{\"size\":\"5\",\"generation\":\"7\"}"}},
	 0,
	 1,
	 1,
	 NULL},
	{"gs: garbage for an answer to a write",
	 GS,
	 act_put,
	 {{200, "", "nonsense"}},
	 0,
	 1,
	 1,
	 NULL},
	/* Written or not: what the store holds then is somebody else's. */
	{"gs: garbage for an answer to a replacement",
	 GS,
	 act_replace,
	 {{200, "", "nonsense"}, {200, "", "{\"size\":\"3\",\"generation\":\"8\"}"}},
	 STORE_CHANGED,
	 2,
	 2,
	 NULL},
	{"gs: garbage also when reading back",
	 GS,
	 act_replace,
	 {{200, "", "nonsense"}},
	 ERR_FORMAT,
	 2,
	 2,
	 NULL},
	{"gs: 412",
	 GS,
	 act_replace,
	 {{412, "", ""}, {200, "", "{\"size\":\"3\",\"generation\":\"8\"}"}},
	 STORE_CHANGED,
	 2,
	 2,
	 NULL},
	{"gs: garbage for a copy", GS, act_copy, {{200, "", "nonsense"}}, ERR_FORMAT, 1, 1, NULL},

	{"az: a listing",
	 AZ,
	 act_list,
	 {{200, "", "\xef\xbb\xbf" BLOBS("<Blobs>" BLOB "</Blobs><NextMarker/>")}},
	 0,
	 1,
	 1,
	 NULL},
	{"az: two pages",
	 AZ,
	 act_list,
	 {{200, "", BLOBS("<Blobs>" BLOB "</Blobs><NextMarker>m</NextMarker>")},
	  {200, "", BLOBS("<Blobs/>")}},
	 0,
	 2,
	 2,
	 NULL},
	{"az: garbage for a listing",
	 AZ,
	 act_list,
	 {{200, "", "<EnumerationResults><Blobs><Bl"}},
	 ERR_FORMAT,
	 3,
	 3,
	 "XML"},
	{"az: a portal's page for a listing",
	 AZ,
	 act_list,
	 {{200, "", "<html>Log in</html>"}},
	 ERR_FORMAT,
	 3,
	 3,
	 "<html>"},
	{"az: JSON for a listing", AZ, act_list, {{200, "", "{}"}}, ERR_FORMAT, 3, 3, "XML"},
	{"az: an XML bomb", AZ, act_list, {{200, "", BOMB}}, ERR_FORMAT, 3, 3, "document type"},
	{"az: a blob without a name",
	 AZ,
	 act_list,
	 {{200, "", BLOBS("<Blobs><Blob/></Blobs>")}},
	 ERR_FORMAT,
	 3,
	 3,
	 "without a key"},
	{"az: a listing in a circle of two",
	 AZ,
	 act_list,
	 {{200, "", BLOBS("<NextMarker>m</NextMarker>")},
	  {200, "", BLOBS("<NextMarker>n</NextMarker>")},
	  {200, "", BLOBS("<NextMarker>m</NextMarker>")},
	  {200, "", BLOBS("<NextMarker>n</NextMarker>")}},
	 ERR_FORMAT,
	 3,
	 6,
	 "circle"},
	{"az: no container",
	 AZ,
	 act_get,
	 {{404, "", AZ_ERROR("ContainerNotFound")}},
	 ERR_ABSENT,
	 1,
	 1,
	 "no container"},
	{"az: no such blob",
	 AZ,
	 act_get,
	 {{404, "", AZ_ERROR("BlobNotFound")}},
	 STORE_ABSENT,
	 1,
	 1,
	 NULL},
	{"az: busy, then 200",
	 AZ,
	 act_get,
	 {{503, "", AZ_ERROR("ServerBusy")}, {206, RANGE, "234"}},
	 0,
	 2,
	 2,
	 NULL},
	{"az: garbage in an error", AZ, act_get, {{403, "", "<<<"}}, ERR_DENIED, 1, 1, "403"},
	{"az: a bomb in an error", AZ, act_get, {{403, "", BOMB}}, ERR_DENIED, 1, 1, "403"},
	{"az: 412",
	 AZ,
	 act_replace,
	 {{412, "", ""}, {200, "ETag: \"x\"\r\n", ""}},
	 STORE_CHANGED,
	 2,
	 2,
	 NULL},
	{"az: a copy that fails",
	 AZ,
	 act_copy,
	 {{202, "x-ms-copy-status: pending\r\n", ""}, {200, "x-ms-copy-status: failed\r\n", ""}},
	 ERR_NETWORK,
	 2,
	 2,
	 "failed"},
};

static void play(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	const struct script *script = argument;
	size_t i = 0;

	while (i + 1 < q->number && i + 1 < ARRAY_LEN(script->answers) &&
	       script->answers[i + 1].body)
		i++;
	if (script->answers[i].status == RESET)
		bad_close(c, true);
	else
		bad_reply_text(c, script->answers[i].status, script->answers[i].headers,
			       script->answers[i].body);
}

static void test_script(void **state)
{
	struct script *c = *state;

	scripted_run(&(struct scripted){
		.url = c->url,
		.anonymous = true,
		.run = play,
		.argument = c,
		.act = c->act,
		.want = c->want,
		.requests_least = c->requests_least,
		.requests_most = c->requests_most,
		.text = c->text,
	});
}

/* --- a write that is done, though its answer is lost --- */

struct lost {
	bool theirs; /* somebody else's write came in between */
	char id[64]; /* of the first write */
	unsigned int writes;
};

/* Azure has it in a header, Google in the first part of the body. */
static void note_write_id(struct lost *lost, const struct bad_request *q)
{
	static const char mark[] = "\"icechunk_write_id\":\"";
	const uint8_t *at =
		q->body.size ? memmem(q->body.data, q->body.size, mark, strlen(mark)) : NULL;
	char header[4096];

	if (at)
		sscanf((const char *)at + strlen(mark), "%60[^\"]", lost->id);
	else
		snprintf(lost->id, sizeof(lost->id), "%.60s",
			 bad_header(q, "x-ms-meta-icechunk_write_id", header));
}

static void lose_answer(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	struct lost *lost = argument;
	const char *id = lost->theirs ? "theirs" : lost->id;
	char headers[200], body[200];

	if (strcmp(q->method, "PUT") == 0 || strcmp(q->method, "POST") == 0) {
		if (lost->writes++ == 0) {
			note_write_id(lost, q);
			bad_close(c, true);
		} else {
			bad_reply_text(c, 412, "", "");
		}
		return;
	}
	snprintf(headers, sizeof(headers), "ETag: \"8\"\r\nx-ms-meta-icechunk_write_id: %s\r\n",
		 id);
	snprintf(
		body, sizeof(body),
		"{\"size\":\"3\",\"generation\":\"8\",\"metadata\":{\"icechunk_write_id\":\"%s\"}}",
		id);
	bad_reply_text(c, 200, headers, body);
}

static struct lost_case {
	const char *name;
	const char *url;
	bool theirs;
	int want;
	const char *version;
} lost_cases[] = {
	{"gs: 412 with our own write id", GS, false, 0, "8"},
	{"gs: 412 with another's write id", GS, true, STORE_CHANGED, NULL},
	{"az: 412 with our own write id", AZ, false, 0, "\"8\""},
	{"az: 412 with another's write id", AZ, true, STORE_CHANGED, NULL},
};

static void test_lost_answer(void **state)
{
	const struct lost_case *c = *state;
	struct lost lost = {.theirs = c->theirs};

	scripted_run(&(struct scripted){
		.url = c->url,
		.anonymous = true,
		.run = lose_answer,
		.argument = &lost,
		.act = act_replace,
		.want = c->want,
		.requests_least = 3,
		.requests_most = 3,
	});
	assert_true(strlen(lost.id) > 8);
	if (c->version)
		assert_string_equal(written.text, c->version);
}

int main(void)
{
	int failed = RUN_CASES(test_script, scripts);

	return failed + RUN_CASES(test_lost_answer, lost_cases);
}
