/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Types of FlexBuffers values, for reading and writing
 *
 * Internal to this folder.
 */

/* FlexBuffers, as FlatBuffers' "FlexBuffers" page describes them. */
enum flex_type {
	FLEX_NULL = 0,
	FLEX_INT = 1,
	FLEX_UINT = 2,
	FLEX_FLOAT = 3,
	FLEX_KEY = 4,
	FLEX_STRING = 5,
	FLEX_INDIRECT_INT = 6,
	FLEX_INDIRECT_UINT = 7,
	FLEX_INDIRECT_FLOAT = 8,
	FLEX_MAP = 9,
	FLEX_VECTOR = 10,
	FLEX_VECTOR_INT = 11, /* typed vectors are 10 + the type of their elements */
	FLEX_VECTOR_STRING = 15,
	FLEX_VECTOR_INT_2 = 16, /* to 24: 2, 3, 4 times Int, UInt, Float */
	FLEX_VECTOR_FLOAT_4 = 24,
	FLEX_BLOB = 25,
	FLEX_BOOL = 26,
	FLEX_VECTOR_BOOL = 36,
};
