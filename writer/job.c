/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/job.h"

/* Number of positions with a label below @time, at most @n. */
static uint64_t below(const struct dataset *dataset, uint64_t n, int64_t time)
{
	uint64_t positions = dataset_positions(dataset, time);

	return positions < n ? positions : n;
}

static bool holds_label(const struct dataset *dataset, uint64_t n, const struct job *job,
			const struct job_filters *filters)
{
	for (size_t i = 0; i < filters->n_contains; i++) {
		uint64_t at = dataset_positions(dataset, filters->contains[i]);

		if (at < n && at >= job->first && at < job->end &&
		    dataset_label(dataset, at) == filters->contains[i])
			return true;
	}
	return filters->n_contains == 0;
}

int jobs_make(const struct dataset *dataset, uint64_t n, const struct job_filters *filters,
	      struct job_list *jobs, struct error *err)
{
	uint64_t size = dataset->dims[dataset->append].chunk;
	uint64_t first = 0, end = n / size + (n % size != 0);

	if (filters->has_start && below(dataset, n, filters->start) / size > first)
		first = below(dataset, n, filters->start) / size;
	if (filters->has_end) {
		uint64_t before = below(dataset, n, filters->end);

		end = before > 0 ? (before - 1) / size + 1 : 0;
	}
	for (uint64_t i = first; i < end; i++) {
		struct job job = {i * size, (i + 1) * size};
		int r;

		if (!holds_label(dataset, n, &job, filters))
			continue;
		r = job_list_push(jobs, job, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int jobs_assign(size_t n_jobs, uint64_t index, uint64_t total, size_t *ret_first, size_t *ret_end,
		struct error *err)
{
	uint64_t block;

	if (total == 0 || index >= total)
		return error_set(err, ERR_ARGUMENT, "there is no worker %llu of %llu",
				 (unsigned long long)index, (unsigned long long)total);
	block = n_jobs / total + (n_jobs % total != 0);
	if (block == 0 || index * block >= n_jobs)
		return error_set(err, ERR_ARGUMENT,
				 "worker %llu of %llu has nothing to do: there are %zu jobs",
				 (unsigned long long)index, (unsigned long long)total, n_jobs);
	*ret_first = (size_t)(index * block);
	*ret_end = n_jobs - *ret_first < block ? n_jobs : (size_t)((index + 1) * block);
	return 0;
}
