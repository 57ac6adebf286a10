// SPDX-License-Identifier: MIT
// An exact selection in two passes. The k-th highest of the blocks' maxima is a lower bound of the
// k-th highest logit, so the second pass reads only the blocks that reach it: about 2% of them for
// 128,256 logits and k = 40.
#include "top_logits.h"

#include "clones.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace {

constexpr size_t block = 64;  // logits
constexpr size_t lanes = 4;

// A vector that every processor has. Of a loop over an array of floats the compiler makes scalar
// code here, which takes six times as long.
typedef float floats __attribute__((vector_size(4 * lanes), aligned(4), may_alias));

// `a < b ? b : a` keeps a where b is NaN.
PS_CLONES void maxima_of_blocks(const float * row, size_t n_blocks, float * out) {
    constexpr size_t vectors = block / lanes, side_by_side = 4;
    for (size_t b = 0; b < n_blocks; b++) {
        const floats * p = reinterpret_cast<const floats *>(row + b * block);
        floats         m[side_by_side];
        for (size_t j = 0; j < side_by_side; j++) {
            m[j] = floats{} - INFINITY;
        }
        for (size_t i = 0; i < vectors; i += side_by_side) {
            for (size_t j = 0; j < side_by_side; j++) {
                m[j] = m[j] < p[i + j] ? p[i + j] : m[j];
            }
        }
        m[0]   = m[0] < m[1] ? m[1] : m[0];
        m[2]   = m[2] < m[3] ? m[3] : m[2];
        m[0]   = m[0] < m[2] ? m[2] : m[0];
        out[b] = std::max(std::max(m[0][0], m[0][1]), std::max(m[0][2], m[0][3]));
    }
}

// Reorders values.
float kth_highest(std::vector<float> & values, size_t k) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(values.begin(), at, values.end(), std::greater<>());
    return *at;
}

}  // namespace

float ps::clamp_logit(float logit) {
    if (std::isnan(logit)) {
        return -INFINITY;
    }
    return logit == -INFINITY ? logit : std::clamp(logit, -max_logit, max_logit);
}

void ps::top_logits::find_block_maxima(const float * row, size_t n) {
    const size_t whole = n / block;
    block_maxima.resize((n + block - 1) / block);
    maxima_of_blocks(row, whole, block_maxima.data());
    if (whole < block_maxima.size()) {
        float m = -INFINITY;
        for (size_t i = whole * block; i < n; i++) {
            m = m < row[i] ? row[i] : m;
        }
        block_maxima[whole] = m;
    }
}

void ps::top_logits::highest(const float * row, size_t n, size_t k, std::vector<llama_token_data> & out) {
    find_block_maxima(row, n);
    float least = -INFINITY;
    if (block_maxima.size() > k) {
        scratch = block_maxima;
        least   = kth_highest(scratch, k);
    }
    at_least(row, n, least, out);
    if (out.size() <= k) {
        return;
    }
    scratch.resize(out.size());
    std::transform(out.begin(), out.end(), scratch.begin(), [](const auto & d) { return d.logit; });
    least = kth_highest(scratch, k);
    out.erase(std::remove_if(out.begin(), out.end(), [least](const auto & d) { return d.logit < least; }), out.end());
}

void ps::top_logits::at_least(const float * row, size_t n, float least, std::vector<llama_token_data> & out) {
    out.clear();
    for (size_t b = 0; b < block_maxima.size(); b++) {
        if (block_maxima[b] < least || block_maxima[b] == -INFINITY) {
            continue;
        }
        for (size_t i = b * block; i < std::min(n, (b + 1) * block); i++) {
            if (row[i] >= least && row[i] > -INFINITY) {
                out.push_back({ static_cast<llama_token>(i), clamp_logit(row[i]), 0.0f });
            }
        }
    }
}
