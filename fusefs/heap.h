/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeping what the heap has freed within the cap of the memory
 *
 * Fields of megabytes and chunks of kilobytes come and go in one heap, so that free pages lie
 * between used ones, which glibc keeps.  That is what makes the next field cheap, until the process
 * holds more than it may.
 */

#include <stdint.h>

/*
 * To be called with the bytes answered so far, before and after an answer: from time to time it
 * looks how much memory the process has of its own, and above @limit bytes gives the free pages
 * back.
 *
 * Threads: from any number of them.
 */
void heap_settle(uint64_t before, uint64_t after, uint64_t limit);
