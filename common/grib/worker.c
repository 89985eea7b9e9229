/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "grib/decoders.h"
#include "grib/sandbox.h"

/*
 * Three kinds of processes share one page a slot: the program (client), the keeper that forks
 * and reaps, and the workers.  The client posts a request in a slot and waits on its state; the
 * worker answers there, or the keeper does when the worker is gone.
 */

enum {
	WORKERS_MAX = 64,
	DEFAULT_TIME_LIMIT = 30,
	CHECK_SECONDS = 1,    /* how often a waiting client looks whether the keeper lives */
	REAP_SECONDS = 10,    /* how long a killed worker may take to be gone */
	KEEP_BYTES = 1 << 20, /* shared memory beyond this is given back after a decode */
	ALIGNMENT = 4096,
};

enum state {
	STATE_IDLE,
	STATE_REQUEST, /* posted by the client */
	STATE_BUSY,    /* taken by the worker */
	STATE_DONE,    /* answered by the worker */
	STATE_GONE,    /* the worker has ended, see `status` */
};

enum command { COMMAND_NONE, COMMAND_START, COMMAND_KILL };

/* What the processes share of a slot. */
struct shared {
	_Atomic uint32_t state;
	_Atomic uint32_t command; /* client to keeper */
	_Atomic uint32_t running; /* keeper to client: there is a worker */
	_Atomic uint32_t taken;	  /* the worker had begun when it ended */
	int status;		  /* of waitpid() */
	struct grib_decode_options options;
	uint64_t message_size, out_offset, total, n;
	int result;
	char text[sizeof(((struct error *)0)->text)];
};

struct slot {
	struct shared *shared;
	int memory; /* memfd: message, then values */
	uint64_t size;
	bool busy;
};

struct grib_workers {
	struct grib_worker_options options;
	unsigned int n;
	struct slot slots[WORKERS_MAX];
	int lifeline[2]; /* the keeper ends when the writing end is closed */
	int wake;	 /* eventfd, client to keeper */
	pid_t keeper;
	pthread_mutex_t lock;
	pthread_cond_t free_slot;
	struct grib_worker_counts counts;
};

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static void set_state(struct shared *shared, uint32_t state)
{
	atomic_store(&shared->state, state);
	futex(&shared->state, FUTEX_WAKE, INT_MAX, NULL);
}

/* Worker */

/* Maps message and values of a request; NULL when that fails. */
static uint8_t *map_request(int memory, uint64_t total)
{
	void *map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void answer(struct shared *shared, int result, const char *text)
{
	shared->result = result;
	snprintf(shared->text, sizeof(shared->text), "%s", text);
	set_state(shared, STATE_DONE);
}

static void serve(const struct grib_workers *workers, struct slot *slot)
{
	struct shared *shared = slot->shared;
	uint64_t total = shared->total;
	struct error err = ERROR_INIT;
	struct slice message;
	uint8_t *map;
	int r;

	map = map_request(slot->memory, total);
	if (!map) {
		answer(shared, ERR_MEMORY, "out of memory");
		return;
	}
	message = slice_of(map, shared->message_size);
	if (workers->options.before)
		workers->options.before(message);
	r = grib_decode(message, &shared->options, map + shared->out_offset, shared->n, &err);
	munmap(map, total);
	answer(shared, r, err.text);
}

/* A worker that crashes ends; what the program does about its own crashes is not for it. */
static void crash_plainly(void)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
	struct sigaction action = {.sa_handler = SIG_DFL};

	for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
		sigaction(fatal[i], &action, NULL);
}

static __attribute__((noreturn)) void run_worker(const struct grib_workers *workers,
						 struct slot *slot)
{
	struct shared *shared = slot->shared;

	prctl(PR_SET_NAME, "grib-worker");
	/* A worker whose keeper was killed ends too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	crash_plainly();
	close(workers->lifeline[0]);
	close(workers->wake);
	for (unsigned int i = 0; i < workers->n; i++)
		if (&workers->slots[i] != slot)
			close(workers->slots[i].memory);
	if (grib_sandbox_enter(workers->options.memory_max, grib_definition_folders()) < 0)
		_exit(2);
	for (;;) {
		uint32_t state = STATE_REQUEST;

		if (atomic_compare_exchange_strong(&shared->state, &state, STATE_BUSY)) {
			serve(workers, slot);
			continue;
		}
		futex(&shared->state, FUTEX_WAIT, state, NULL);
	}
}

/* Keeper */

static void on_child(int number)
{
	(void)number;
}

static void mark_gone(struct shared *shared, int status)
{
	uint32_t state = atomic_load(&shared->state);

	atomic_store(&shared->running, 0);
	shared->status = status;
	if (state == STATE_REQUEST || state == STATE_BUSY) {
		atomic_store(&shared->taken, state == STATE_BUSY);
		set_state(shared, STATE_GONE);
	}
}

static void reap(struct grib_workers *workers, pid_t *pids)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned int i = 0; i < workers->n; i++)
			if (pids[i] == pid) {
				pids[i] = 0;
				mark_gone(workers->slots[i].shared, status);
			}
}

static void start_worker(struct grib_workers *workers, struct slot *slot, pid_t *pid)
{
	/* Before it can answer, or the client would ask for another. */
	atomic_store(&slot->shared->running, 1);
	*pid = fork();
	if (*pid == 0)
		run_worker(workers, slot);
	if (*pid < 0) {
		*pid = 0;
		mark_gone(slot->shared, 0);
	}
}

static void obey(struct grib_workers *workers, pid_t *pids)
{
	for (unsigned int i = 0; i < workers->n; i++) {
		struct slot *slot = &workers->slots[i];
		uint32_t command = atomic_exchange(&slot->shared->command, COMMAND_NONE);

		if (command == COMMAND_START && pids[i] == 0)
			start_worker(workers, slot, &pids[i]);
		if (command == COMMAND_KILL && pids[i] > 0)
			kill(pids[i], SIGKILL);
		if (command == COMMAND_KILL && pids[i] == 0)
			mark_gone(slot->shared, 0);
	}
}

/* Keeps the descriptors that the keeper and its workers need, nothing else. */
static void close_others(const struct grib_workers *workers)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int last = 2;

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	/* Descriptors are few and low: one range between each two that stay. */
	for (;;) {
		int next = INT_MAX;

		for (unsigned int i = 0; i < workers->n; i++)
			if (workers->slots[i].memory > last && workers->slots[i].memory < next)
				next = workers->slots[i].memory;
		if (workers->lifeline[0] > last && workers->lifeline[0] < next)
			next = workers->lifeline[0];
		if (workers->wake > last && workers->wake < next)
			next = workers->wake;
		if (next > last + 1)
			syscall(SYS_close_range, last + 1,
				next == INT_MAX ? UINT_MAX : (unsigned int)next - 1, 0);
		if (next == INT_MAX)
			return;
		last = next;
	}
}

static void set_signals(sigset_t *ret_while_waiting)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = SIG_IGN};
	sigset_t child;

	/* The terminal's signals are the program's to answer; it takes the keeper with it. */
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		sigaction(ignored[i], &action, NULL);
	action.sa_handler = on_child;
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
	sigemptyset(ret_while_waiting);
}

static __attribute__((noreturn)) void run_keeper(struct grib_workers *workers)
{
	pid_t pids[WORKERS_MAX] = {0};
	sigset_t while_waiting;

	prctl(PR_SET_NAME, "grib-keeper");
	close(workers->lifeline[1]);
	close_others(workers);
	set_signals(&while_waiting);
	for (;;) {
		struct pollfd polls[] = {{.fd = workers->lifeline[0], .events = POLLIN},
					 {.fd = workers->wake, .events = POLLIN}};
		uint64_t count;

		reap(workers, pids);
		obey(workers, pids);
		if (ppoll(polls, 2, NULL, &while_waiting) < 0)
			continue;
		if (polls[0].revents)
			break;
		if (polls[1].revents && read(workers->wake, &count, sizeof(count)) < 0)
			continue;
	}
	for (unsigned int i = 0; i < workers->n; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	_exit(0);
}

/* Client */

static int open_slot(struct slot *slot, struct error *err)
{
	void *page = mmap(NULL, sizeof(*slot->shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	slot->memory = -1;
	if (page == MAP_FAILED)
		return error_set_errno(err, errno, "cannot share memory with a worker");
	slot->shared = page;
	slot->memory = memfd_create("grib", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Nobody may take pages away that the other side reads. */
	if (slot->memory < 0 || fcntl(slot->memory, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		return error_set_errno(err, errno, "cannot share memory with a worker");
	return 0;
}

static int open_all(struct grib_workers *workers, struct error *err)
{
	int r;

	for (unsigned int i = 0; i < workers->n; i++)
		workers->slots[i].memory = -1;
	for (unsigned int i = 0; i < workers->n; i++) {
		r = open_slot(&workers->slots[i], err);
		if (r < 0)
			return r;
	}
	if (pipe2(workers->lifeline, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot start the keeper of workers");
	workers->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (workers->wake < 0)
		return error_set_errno(err, errno, "cannot start the keeper of workers");
	return 0;
}

int grib_workers_start(const struct grib_worker_options *options, struct grib_workers **ret_workers,
		       struct error *err)
{
	CLEANUP(grib_workers_freep) struct grib_workers *workers = calloc(1, sizeof(*workers));
	pthread_condattr_t attributes;
	int r;

	if (!workers)
		return error_memory(err);
	workers->options = *options;
	workers->n = options->n ? options->n : 1;
	workers->lifeline[0] = workers->lifeline[1] = workers->wake = -1;
	pthread_mutex_init(&workers->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&workers->free_slot, &attributes);
	pthread_condattr_destroy(&attributes);
	if (workers->n > WORKERS_MAX)
		workers->n = WORKERS_MAX;
	if (workers->options.time_limit == 0)
		workers->options.time_limit = DEFAULT_TIME_LIMIT * TIME_SECOND;
	if (workers->options.memory_max == 0)
		workers->options.memory_max = UINT64_C(4) << 30;
	r = open_all(workers, err);
	if (r < 0)
		return r;
	workers->keeper = fork();
	if (workers->keeper == 0)
		run_keeper(workers);
	if (workers->keeper < 0)
		return error_set_errno(err, errno, "cannot start the keeper of workers");
	close(workers->lifeline[0]);
	workers->lifeline[0] = -1;
	*ret_workers = TAKE(workers);
	return 0;
}

struct grib_workers *grib_workers_free(struct grib_workers *workers)
{
	if (!workers)
		return NULL;
	closep(&workers->lifeline[0]);
	closep(&workers->lifeline[1]);
	closep(&workers->wake);
	if (workers->keeper > 0)
		while (waitpid(workers->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	for (unsigned int i = 0; i < workers->n; i++) {
		closep(&workers->slots[i].memory);
		if (workers->slots[i].shared)
			munmap(workers->slots[i].shared, sizeof(struct shared));
	}
	pthread_cond_destroy(&workers->free_slot);
	pthread_mutex_destroy(&workers->lock);
	free(workers);
	return NULL;
}

struct grib_worker_counts grib_workers_counts(struct grib_workers *workers)
{
	struct grib_worker_counts counts;

	pthread_mutex_lock(&workers->lock);
	counts = workers->counts;
	pthread_mutex_unlock(&workers->lock);
	return counts;
}

static void count(struct grib_workers *workers, uint64_t *counter)
{
	pthread_mutex_lock(&workers->lock);
	(*counter)++;
	pthread_mutex_unlock(&workers->lock);
}

static struct timespec timespec_of(int64_t micros)
{
	return (struct timespec){.tv_sec = micros / TIME_SECOND,
				 .tv_nsec = micros % TIME_SECOND * 1000};
}

/* Prefers a slot whose worker runs. */
static struct slot *find_free(struct grib_workers *workers)
{
	struct slot *found = NULL;

	for (unsigned int i = 0; i < workers->n; i++) {
		struct slot *slot = &workers->slots[i];

		if (!slot->busy && (!found || (atomic_load(&slot->shared->running) &&
					       !atomic_load(&found->shared->running))))
			found = slot;
	}
	return found;
}

static int acquire(struct grib_workers *workers, int64_t deadline, struct slot **ret_slot,
		   struct error *err)
{
	struct timespec until = timespec_of(deadline);
	struct slot *slot;

	pthread_mutex_lock(&workers->lock);
	while (!(slot = find_free(workers)))
		if (deadline == 0)
			pthread_cond_wait(&workers->free_slot, &workers->lock);
		else if (pthread_cond_timedwait(&workers->free_slot, &workers->lock, &until) ==
			 ETIMEDOUT)
			break;
	if (slot)
		slot->busy = true;
	pthread_mutex_unlock(&workers->lock);
	if (!slot)
		return error_set(err, ERR_TIMEOUT, "deadline passed while all decoders were busy");
	*ret_slot = slot;
	return 0;
}

static void release(struct grib_workers *workers, struct slot *slot)
{
	/* A large decode is rare: its memory is the system's again. */
	if (slot->size > KEEP_BYTES)
		fallocate(slot->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, KEEP_BYTES,
			  (off_t)(slot->size - KEEP_BYTES));
	pthread_mutex_lock(&workers->lock);
	slot->busy = false;
	pthread_cond_signal(&workers->free_slot);
	pthread_mutex_unlock(&workers->lock);
}

static void wake_keeper(struct grib_workers *workers)
{
	uint64_t one = 1;

	/* It cannot fail but when 2^64 wakes are pending, and then the keeper is awake. */
	if (write(workers->wake, &one, sizeof(one)) < 0)
		return;
}

static bool keeper_lives(const struct grib_workers *workers)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)workers->keeper, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/* Waits until the state is neither REQUEST nor BUSY, @until, or the keeper is gone (false). */
static bool wait_answer(struct grib_workers *workers, struct shared *shared, int64_t until,
			uint32_t *ret_state)
{
	for (;;) {
		uint32_t state = atomic_load(&shared->state);
		int64_t left = until - time_monotonic();
		struct timespec timeout;

		*ret_state = state;
		if (state == STATE_DONE || state == STATE_GONE || left <= 0)
			return true;
		timeout = timespec_of(
			left < CHECK_SECONDS * TIME_SECOND ? left : CHECK_SECONDS * TIME_SECOND);
		if (futex(&shared->state, FUTEX_WAIT, state, &timeout) < 0 && errno == ETIMEDOUT &&
		    !keeper_lives(workers))
			return false;
	}
}

static void give_command(struct grib_workers *workers, struct shared *shared, uint32_t command)
{
	atomic_store(&shared->command, command);
	wake_keeper(workers);
}

static int keeper_gone(struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "the process that keeps the decoders has ended");
}

static int stop_worker(struct grib_workers *workers, struct shared *shared, struct error *err)
{
	uint32_t state;

	count(workers, &workers->counts.timed_out);
	give_command(workers, shared, COMMAND_KILL);
	if (!wait_answer(workers, shared, time_monotonic() + REAP_SECONDS * TIME_SECOND, &state))
		return keeper_gone(err);
	/* It may have answered in the last moment, and is killed all the same: wait for that. */
	for (int i = 0; i < REAP_SECONDS * 100 && atomic_load(&shared->running); i++) {
		struct timespec pause = timespec_of(TIME_SECOND / 100);

		nanosleep(&pause, NULL);
	}
	return error_set(err, ERR_TIMEOUT, "decoding took too long and was stopped");
}

static int worker_gone(struct grib_workers *workers, const struct shared *shared, struct error *err)
{
	int status = shared->status;

	count(workers, &workers->counts.crashed);
	if (WIFSIGNALED(status))
		return error_set(
			err, ERR_FORMAT,
			"the decoder ended over this message: %s, it is damaged or too large",
			strsignal(WTERMSIG(status)));
	return error_set(err, ERR_FORMAT,
			 "the decoder ended over this message with status %d, it is damaged or too "
			 "large",
			 WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

enum { WORKER_UNSTARTED = 1 };

/* Posts the request and waits; WORKER_UNSTARTED when the worker ended before it took it. */
static int ask(struct grib_workers *workers, struct slot *slot, int64_t until, struct error *err)
{
	struct shared *shared = slot->shared;
	uint32_t state;
	int r;

	set_state(shared, STATE_REQUEST);
	if (!atomic_load(&shared->running)) {
		count(workers, &workers->counts.started);
		give_command(workers, shared, COMMAND_START);
	}
	if (!wait_answer(workers, shared, until, &state))
		return keeper_gone(err);
	if (state == STATE_GONE)
		return atomic_load(&shared->taken) ? worker_gone(workers, shared, err)
						   : WORKER_UNSTARTED;
	if (state != STATE_DONE)
		return stop_worker(workers, shared, err);
	count(workers, &workers->counts.decoded);
	r = shared->result;
	if (r == 0)
		return 0;
	/* The worker may have written anything there. */
	shared->text[sizeof(shared->text) - 1] = '\0';
	if (r > 0 || r < ERR_LAST)
		r = ERR_FORMAT;
	return error_set(err, r, "%s", shared->text);
}

static int grow(struct slot *slot, uint64_t total, struct error *err)
{
	if (total <= slot->size)
		return 0;
	if (ftruncate(slot->memory, (off_t)total) < 0)
		return error_set_errno(err, errno, "cannot share memory with a worker");
	slot->size = total;
	return 0;
}

struct mapping {
	uint8_t *data;
	size_t size;
};

static void mapping_done(struct mapping *mapping)
{
	if (mapping->data)
		munmap(mapping->data, mapping->size);
}

static int decode_in_slot(struct grib_workers *workers, struct slot *slot, struct slice message,
			  const struct grib_decode_options *options, int64_t until, void *out,
			  size_t n, struct error *err)
{
	CLEANUP(mapping_done) struct mapping mapping = {0};
	uint64_t offset = (message.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	size_t size = n * grib_type_size(options->type);
	struct shared *shared = slot->shared;
	int r;

	r = grow(slot, offset + size, err);
	if (r < 0)
		return r;
	mapping.size = offset + size;
	mapping.data = map_request(slot->memory, mapping.size);
	if (!mapping.data)
		return error_memory(err);
	memcpy(mapping.data, message.data, message.size);
	shared->options = *options;
	shared->message_size = message.size;
	shared->out_offset = offset;
	shared->total = mapping.size;
	shared->n = n;
	r = ask(workers, slot, until, err);
	if (r == WORKER_UNSTARTED)
		r = ask(workers, slot, until, err);
	if (r == WORKER_UNSTARTED)
		return error_set(err, ERR_UNSUPPORTED, "no decoder process can be started");
	if (r == 0)
		memcpy(out, mapping.data + offset, size);
	return r;
}

int grib_workers_decode(struct grib_workers *workers, struct slice message,
			const struct grib_decode_options *options, int64_t deadline, void *out,
			size_t n, struct error *err)
{
	int64_t until;
	struct slot *slot = NULL;
	uint64_t have;
	int r;

	if (!grib_needs_eccodes(message, options))
		return grib_decode_direct(message, options, out, n, err);
	/* A wrong number of values is refused before memory is shared for it. */
	r = grib_value_count(message, options, &have, err);
	if (r < 0)
		return r;
	if (have != n)
		return grib_decode_direct(message, options, out, n, err);
	r = acquire(workers, deadline, &slot, err);
	if (r < 0)
		return r;
	until = time_monotonic() + workers->options.time_limit;
	if (deadline && deadline < until)
		until = deadline;
	r = decode_in_slot(workers, slot, message, options, until, out, n, err);
	release(workers, slot);
	return r;
}
