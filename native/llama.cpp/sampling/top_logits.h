// SPDX-License-Identifier: MIT
// Finds the highest logits of a row without building an array of candidates for the whole
// vocabulary.
#pragma once

#include "llama.h"

#include <cstddef>
#include <vector>

namespace ps {

// Searches one row at a time; scratch memory is reused.
class top_logits {
public:
    // The k highest logits of a row that are above -infinity, in token order, and all that equal
    // the k-th. NaN counts as -infinity.
    void highest(const float * row, size_t n, size_t k, std::vector<llama_token_data> & out);

    // All logits from `least` on, in token order. highest() must have searched the row before.
    void at_least(const float * row, size_t n, float least, std::vector<llama_token_data> & out);

private:
    void find_block_maxima(const float * row, size_t n);

    std::vector<float> block_maxima;
    std::vector<float> scratch;
};

// Larger logits count as this much: llama.cpp sorts them into buckets through an int.
constexpr float max_logit = 1e6f;

// A logit that llama.cpp's samplers can compute with: NaN becomes -infinity, finite ones stay
// within max_logit.
float clamp_logit(float logit);

}  // namespace ps
