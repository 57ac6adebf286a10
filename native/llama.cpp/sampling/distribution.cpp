// SPDX-License-Identifier: MIT
#include "distribution.h"

#include "clones.h"
#include "top_logits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr size_t block  = 64;   // logits, whose sums need no more than 32 bits
constexpr size_t lanes  = 16;   // that are summed side by side
constexpr float  lowest = -87;  // a logit that far below the highest adds nothing

// exp(x) for lowest <= x <= 0, to two parts in ten million: 2 to a whole power times the Taylor
// series of what is left.
inline float exp_of(float x) {
    const float k  = x * 1.44269504f + 12582912.0f;  // rounds to a whole number, which the low bits then hold
    const float n  = k - 12582912.0f;
    const float r  = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    const float p  = 1 + r * (1 + r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
    uint32_t    bits;
    std::memcpy(&bits, &k, sizeof(bits));
    bits = (bits + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}

// Adds to sum the exponentials of the logits less the highest, and to weighted each times that
// difference.
PS_CLONES void add_blocks(const float * row, size_t n_blocks, float highest, double * sum, double * weighted) {
    for (size_t b = 0; b < n_blocks; b++) {
        float sums[lanes] = {}, products[lanes] = {};
        for (size_t i = 0; i < block; i += lanes) {
            for (size_t j = 0; j < lanes; j++) {
                const float x = row[b * block + i + j];
                float       d = (x > ps::max_logit ? ps::max_logit : x) - highest;
                const bool  counts = d > lowest;  // NaN does not
                d                  = counts ? d : 0;
                const float e      = counts ? exp_of(d) : 0;
                sums[j] += e;
                products[j] += e * d;
            }
        }
        for (size_t j = 0; j < lanes; j++) {
            *sum += sums[j];
            *weighted += products[j];
        }
    }
}

// A vector that every processor has: of a loop over floats that looks for the highest the compiler
// makes scalar code.
typedef float floats __attribute__((vector_size(16), aligned(4), may_alias));

PS_CLONES float highest_of(const float * row, size_t n) {
    constexpr size_t width = sizeof(floats) / sizeof(float), side_by_side = 4;
    floats           m[side_by_side];
    for (auto & v : m) {
        v = floats{} - INFINITY;
    }
    size_t i = 0;
    for (; i + side_by_side * width <= n; i += side_by_side * width) {
        for (size_t j = 0; j < side_by_side; j++) {
            const floats x = *reinterpret_cast<const floats *>(row + i + j * width);
            m[j]           = m[j] < x ? x : m[j];  // keeps m where x is NaN
        }
    }
    float highest = -INFINITY;
    for (const auto & v : m) {
        for (size_t j = 0; j < width; j++) {
            highest = std::max(highest, v[j]);
        }
    }
    for (; i < n; i++) {
        highest = highest < row[i] ? row[i] : highest;
    }
    return highest;
}

}  // namespace

ps::distribution ps::distribution_of(const float * row, size_t n) {
    float highest = highest_of(row, n);
    if (highest == -INFINITY) {
        return { -INFINITY, 0 };
    }
    highest    = std::min(highest, max_logit);
    double sum = 0, weighted = 0;
    add_blocks(row, n / block, highest, &sum, &weighted);
    float rest[block];
    std::fill(rest, rest + block, -INFINITY);
    std::copy(row + n / block * block, row + n, rest);
    add_blocks(rest, 1, highest, &sum, &weighted);
    const double log_sum = std::log(sum);
    return { static_cast<float>(highest + log_sum), static_cast<float>(std::max(0.0, log_sum - weighted / sum)) };
}
