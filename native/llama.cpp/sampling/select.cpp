// SPDX-License-Identifier: MIT
// Exact selection in two passes: the highest logit of each block bounds the k-th highest of all from below, so only
// blocks that reach the bound are looked at again. For 128,256 logits and k = 40 that is about 2% of them.
#include "select.h"

#include "penstock.h"
#include "shim.h"

#include <algorithm>
#include <cmath>
#include <functional>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PS_CLONES
#endif

namespace {

constexpr size_t block = 64;
constexpr size_t lanes = 16;

// `a < b ? b : a` keeps a where b is NaN.
PS_CLONES void block_maxima(const float * row, size_t n_blocks, float * out) {
    for (size_t b = 0; b < n_blocks; b++) {
        const float * p = row + b * block;
        float         m[lanes];
        for (size_t j = 0; j < lanes; j++) {
            m[j] = -INFINITY < p[j] ? p[j] : -INFINITY;
        }
        for (size_t i = lanes; i < block; i += lanes) {
            for (size_t j = 0; j < lanes; j++) {
                m[j] = m[j] < p[i + j] ? p[i + j] : m[j];
            }
        }
        for (size_t width = lanes / 2; width > 0; width /= 2) {
            for (size_t j = 0; j < width; j++) {
                m[j] = m[j] < m[j + width] ? m[j + width] : m[j];
            }
        }
        out[b] = m[0];
    }
}

}  // namespace

float ps::tame(float logit) {
    if (std::isnan(logit)) {
        return -INFINITY;
    }
    return logit == -INFINITY ? logit : std::clamp(logit, -max_logit, max_logit);
}

void ps::selector::maxima(const float * row, size_t n) {
    const size_t whole = n / block;
    blocks.resize((n + block - 1) / block);
    block_maxima(row, whole, blocks.data());
    if (whole < blocks.size()) {
        float m = -INFINITY;
        for (size_t i = whole * block; i < n; i++) {
            m = m < row[i] ? row[i] : m;
        }
        blocks[whole] = m;
    }
}

void ps::selector::top(const float * row, size_t n, size_t k, std::vector<llama_token_data> & out) {
    maxima(row, n);
    float least = -INFINITY;
    if (blocks.size() > k) {
        order = blocks;
        std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k) - 1, order.end(), std::greater<>());
        least = order[k - 1];
    }
    above(row, n, least, out);
    if (out.size() <= k) {
        return;
    }
    order.resize(out.size());
    std::transform(out.begin(), out.end(), order.begin(), [](const auto & d) { return d.logit; });
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k) - 1, order.end(), std::greater<>());
    least = order[k - 1];
    out.erase(std::remove_if(out.begin(), out.end(), [least](const auto & d) { return d.logit < least; }), out.end());
}

void ps::selector::above(const float * row, size_t n, float least, std::vector<llama_token_data> & out) {
    out.clear();
    for (size_t b = 0; b < blocks.size(); b++) {
        if (blocks[b] < least || blocks[b] == -INFINITY) {
            continue;
        }
        for (size_t i = b * block; i < std::min(n, (b + 1) * block); i++) {
            if (row[i] >= least && row[i] > -INFINITY) {
                out.push_back({ static_cast<llama_token>(i), tame(row[i]), 0.0f });
            }
        }
    }
}

int32_t ps_top_k(const float * row, size_t n, int32_t k, int32_t * ids, float * logits) noexcept {
    try {
        static thread_local ps::selector                  select;
        static thread_local std::vector<llama_token_data> found;
        if (k <= 0 || n == 0) {
            return 0;
        }
        select.top(row, n, static_cast<size_t>(k), found);
        const size_t count = std::min(found.size(), static_cast<size_t>(k));
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                          [](const auto & a, const auto & b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); });
        for (size_t i = 0; i < count; i++) {
            ids[i]    = found[i].id;
            logits[i] = found[i].logit;
        }
        return static_cast<int32_t>(count);
    } catch (...) {  // only memory can have run out
        return 0;
    }
}
