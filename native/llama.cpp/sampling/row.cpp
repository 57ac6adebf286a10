// SPDX-License-Identifier: MIT
#include "row.h"

#include "clones.h"

#include <cfloat>
#include <cmath>

namespace {

constexpr size_t block = 32;  // logits: a word of a mask

PS_CLONES void mask_blocks(float * __restrict to, const float * __restrict row, size_t n_blocks, const uint32_t * mask) {
    for (size_t b = 0; b < n_blocks; b++) {
        const uint32_t word = mask[b];
        for (size_t i = 0; i < block; i++) {
            to[b * block + i] = word >> i & 1 ? row[b * block + i] : -INFINITY;
        }
    }
}

// Also false for NaN, which is no number to compare with.
bool is_logit(float x) { return x <= FLT_MAX; }

// How many blocks come before the first in which a logit is invalid.
PS_CLONES size_t valid_blocks(const float * row, size_t n_blocks) {
    for (size_t b = 0; b < n_blocks; b++) {
        uint32_t invalid = 0;
        for (size_t i = 0; i < block; i++) {
            invalid |= row[b * block + i] <= FLT_MAX ? 0 : 1;
        }
        if (invalid) {
            return b;
        }
    }
    return n_blocks;
}

}  // namespace

void ps::mask_row(float * to, const float * row, size_t n, const uint32_t * mask) {
    const size_t whole = n / block;
    mask_blocks(to, row, whole, mask);
    for (size_t i = whole * block; i < n; i++) {
        to[i] = mask[whole] >> (i % block) & 1 ? row[i] : -INFINITY;
    }
}

size_t ps::first_invalid(const float * row, size_t n) {
    size_t i = valid_blocks(row, n / block) * block;
    while (i < n && is_logit(row[i])) {
        i++;
    }
    return i;
}
