/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"

#include "repo/maintain.h"
#include "repo/refs.h"
#include "repo/transaction.h"
#include "store/store.h"
#include "writer/cmd-repo.h"

/*
 * Runs `refmt` many times over: tests that compare thousands of runs cannot start a program each
 * time.  A request is one line {"arguments":[...],"input":"text"} on standard input; it runs in a
 * child of this process.  The answer is one line {"status":n,"output":"base64","errors":"text"}.
 *
 * {"dump":"url"} answers with the nodes of main, their references and the bytes of the chunks that
 * the repository holds; {"diff":"url","from":"id","to":"id"} with the difference; {"verify":"url"}
 * with its errors.  These run in this process.
 */

int refmt_main(int argc, char **argv);

#define TEXT_MAX (UINT64_C(1) << 32)
#define ARGUMENTS_MAX 64

struct request {
	char *arguments[ARGUMENTS_MAX + 1];
	int n;
	struct buf input;
};

static void request_done(struct request *request)
{
	for (int i = 0; i < request->n; i++)
		free(request->arguments[i]);
	buf_done(&request->input);
}

static int request_parse(struct slice line, struct request *request, struct error *err)
{
	struct json root, list, item;
	int r = json_parse(line, &root, err);

	if (r == 0 && json_get(&root, "arguments", &list) != 0)
		r = error_set(err, ERR_ARGUMENT, "no arguments");
	if (r < 0)
		return r;
	JSON_EACH (&list, NULL, item) {
		if (request->n == ARGUMENTS_MAX)
			return error_set(err, ERR_ARGUMENT, "too many arguments");
		r = json_dup(&item, &request->arguments[request->n], err);
		if (r < 0)
			return r;
		request->n++;
	}
	if (json_get(&root, "input", &item) == 0)
		return json_text(&item, &request->input, err);
	return 0;
}

/* What the child reads lies in a file, so that no pipe can fill up. */
static void child_run(const struct request *request, int out, int errors)
{
	FILE *input = tmpfile();

	if (!input || fwrite(request->input.data ? request->input.data : (const uint8_t *)"", 1,
			     request->input.size, input) != request->input.size)
		_exit(99);
	rewind(input);
	if (dup2(fileno(input), 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
		_exit(99);
	exit(refmt_main(request->n, (char **)request->arguments));
}

static int drain(int fd, struct buf *out, struct error *err)
{
	uint8_t *bytes;
	ssize_t n;
	int r = buf_extend(out, 65536, &bytes, err);

	if (r < 0)
		return r;
	n = read(fd, bytes, 65536);
	out->size -= 65536 - (size_t)(n > 0 ? n : 0);
	return n > 0;
}

static int collect(const int fds[2], struct buf texts[2], struct error *err)
{
	struct pollfd polls[2] = {{.fd = fds[0], .events = POLLIN},
				  {.fd = fds[1], .events = POLLIN}};
	int open = 2;

	while (open) {
		if (poll(polls, 2, -1) < 0)
			return error_set(err, ERR_NETWORK, "poll failed");
		for (int i = 0; i < 2; i++) {
			int r;

			if (polls[i].fd < 0 || !polls[i].revents)
				continue;
			r = drain(polls[i].fd, &texts[i], err);
			if (r < 0)
				return r;
			if (r == 0) {
				polls[i].fd = -1;
				open--;
			}
		}
	}
	return 0;
}

static int answer(int status, const struct buf texts[2], struct error *err)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT(TEXT_MAX);
	int r;

	r = buf_printf(&line, err, "{\"status\":%d,\"output\":\"",
		       WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	if (r == 0)
		r = base64_encode(buf_slice(&texts[0]), &line, err);
	if (r == 0)
		r = buf_append_text(&line, "\",\"errors\":", err);
	if (r == 0)
		r = json_write_text(&line, buf_slice(&texts[1]), err);
	if (r == 0)
		r = buf_append_text(&line, "}\n", err);
	if (r == 0 && (fwrite(line.data, 1, line.size, stdout) != line.size || fflush(stdout) != 0))
		r = error_set(err, ERR_NETWORK, "cannot answer");
	return r;
}

static int open_main(const char *url, struct opened *opened, struct error *err)
{
	struct open_options options = {0};

	return opened_init(opened, url, &options, err);
}

static int dump_data(const struct opened *opened, const struct chunk_ref *ref, struct buf *out,
		     struct error *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(TEXT_MAX);
	char id[ID12_TEXT_LEN + 1], key[64];
	int r = 0;

	if (ref->kind == CHUNK_VIRTUAL)
		return buf_append_byte(out, '}', err);
	if (ref->kind == CHUNK_INLINE)
		r = buf_append_slice(&bytes, ref->data, err);
	id12_format(&ref->chunk_id, id);
	snprintf(key, sizeof(key), "chunks/%s", id);
	if (ref->kind == CHUNK_NATIVE)
		r = store_get(opened->store, key, ref->offset, ref->length, NULL, &bytes, NULL,
			      err);
	if (r == 0)
		r = buf_append_text(out, ",\"data\":\"", err);
	if (r == 0)
		r = base64_encode(buf_slice(&bytes), out, err);
	return r != 0 ? r : buf_append_text(out, "\"}", err);
}

static int dump_refs(const struct opened *opened, const struct node *node, struct buf *out,
		     struct error *err)
{
	CLEANUP(chunk_iter_freep) struct chunk_iter *iter = NULL;
	const struct chunk *chunk;
	const uint32_t *index;
	bool any = false;
	int r;

	r = chunk_iter_new(opened->checkout, node, NULL, 0, &iter, err);
	while (r == 0 && (r = chunk_iter_next(iter, &index, &chunk, err)) == 0) {
		r = buf_append_text(out, any ? "," : "", err);
		any = true;
		if (r == 0)
			r = ref_json(&chunk->ref, index, node->n_dims, true, out, err);
		if (r == 0)
			r = dump_data(opened, &chunk->ref, out, err);
	}
	return r == REPO_END ? 0 : r;
}

static int dump_node(const struct opened *opened, const struct node *node, struct buf *out,
		     struct error *err)
{
	int r = buf_append_text(out, "{\"path\":", err);

	if (r == 0)
		r = json_write_text(out, node->path, err);
	if (r == 0)
		r = buf_append_text(out, ",\"document\":", err);
	if (r == 0)
		r = json_write_text(out, node->document, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"n_manifests\":%u,\"refs\":[",
			       checkout_n_manifests(opened->checkout, node));
	if (r == 0 && node->is_array)
		r = dump_refs(opened, node, out, err);
	return r != 0 ? r : buf_append_text(out, "]}", err);
}

static int dump(const struct opened *opened, struct buf *out, struct error *err)
{
	int r = buf_append_byte(out, '[', err);

	for (uint32_t i = 0; r == 0 && i < checkout_n_nodes(opened->checkout); i++) {
		struct node node;

		checkout_node(opened->checkout, i, &node);
		r = buf_append_text(out, i ? "," : "", err);
		if (r == 0)
			r = dump_node(opened, &node, out, err);
	}
	return r != 0 ? r : buf_append_byte(out, ']', err);
}

static int diff(const struct opened *opened, const struct json *root, struct buf *out,
		struct error *err)
{
	CLEANUP(freep) char *from = NULL;
	CLEANUP(freep) char *to = NULL;
	struct json value;
	struct id12 a, b;
	int r;

	json_get(root, "from", &value);
	r = json_dup(&value, &from, err);
	if (r == 0)
		r = id12_parse(from, &a, err);
	json_get(root, "to", &value);
	if (r == 0)
		r = json_dup(&value, &to, err);
	if (r == 0)
		r = id12_parse(to, &b, err);
	return r < 0 ? r : repo_diff(opened->repo, &a, &b, out, err);
}

static int note_finding(void *argument, const struct finding *finding, struct error *err)
{
	struct buf *out = argument;
	int r;

	if (!finding->is_error)
		return 0;
	r = buf_append_text(out, out->size > 1 ? ",{" : "{", err);
	if (r == 0)
		r = json_write_text(out, slice_text(finding->object), err);
	if (r == 0)
		r = buf_append_byte(out, ':', err);
	if (r == 0)
		r = json_write_text(out, slice_text(finding->text), err);
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

static int verify(const struct opened *opened, struct buf *out, struct error *err)
{
	struct verify_options options = {.each = note_finding, .argument = out};
	struct verify_result result;
	int r;

	r = buf_append_byte(out, '[', err);
	if (r == 0)
		r = repo_verify(opened->repo, &options, &result, err);
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

/* A request that is answered without running the program; JSON_ABSENT if it is none. */
static int serve_here(struct slice line, struct error *err)
{
	static const char *const kinds[] = {"dump", "diff", "verify"};
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
	CLEANUP(freep) char *url = NULL;
	struct json root, value;
	size_t kind = 0;
	int r = json_parse(line, &root, err);

	while (r == 0 && kind < ARRAY_LEN(kinds) && json_get(&root, kinds[kind], &value) != 0)
		kind++;
	if (r < 0 || kind == ARRAY_LEN(kinds))
		return r < 0 ? r : JSON_ABSENT;
	r = json_dup(&value, &url, err);
	if (r == 0)
		r = open_main(url, &opened, err);
	if (r == 0 && kind == 0)
		r = dump(&opened, &out, err);
	else if (r == 0 && kind == 1)
		r = diff(&opened, &root, &out, err);
	else if (r == 0)
		r = verify(&opened, &out, err);
	if (r == 0)
		r = buf_append_byte(&out, '\n', err);
	if (r == 0 && (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0))
		r = error_set(err, ERR_NETWORK, "cannot answer");
	return r;
}

static int serve(struct slice line, struct error *err)
{
	CLEANUP(request_done) struct request request = {.input = BUF_INIT(TEXT_MAX)};
	struct buf texts[2] = {BUF_INIT(TEXT_MAX), BUF_INIT(TEXT_MAX)};
	int out[2], errors[2], status = 0, r;
	pid_t pid;

	r = request_parse(line, &request, err);
	if (r < 0)
		return r;
	if (pipe(out) < 0 || pipe(errors) < 0)
		return error_set(err, ERR_NETWORK, "no pipe");
	pid = fork();
	if (pid == 0) {
		close(out[0]);
		close(errors[0]);
		child_run(&request, out[1], errors[1]);
	}
	close(out[1]);
	close(errors[1]);
	r = collect((int[2]){out[0], errors[0]}, texts, err);
	close(out[0]);
	close(errors[0]);
	if (r == 0 && waitpid(pid, &status, 0) != pid)
		r = error_set(err, ERR_NETWORK, "the child is gone");
	if (r == 0)
		r = answer(status, texts, err);
	buf_done(&texts[0]);
	buf_done(&texts[1]);
	return r;
}

int main(void)
{
	CLEANUP(freep) char *line = NULL;
	size_t capacity = 0;
	ssize_t n;

	while ((n = getline(&line, &capacity, stdin)) > 0) {
		struct error err = ERROR_INIT;
		int r = serve_here(slice_of(line, (size_t)n), &err);

		if (r == JSON_ABSENT)
			r = serve(slice_of(line, (size_t)n), &err);
		if (r < 0) {
			fprintf(stderr, "refmt-server: %s\n", err.text);
			return 1;
		}
	}
	return 0;
}
