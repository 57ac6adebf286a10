// SPDX-License-Identifier: MIT
// Finding the few candidates that matter in a row of logits, without an array of structs over the whole vocabulary.
#pragma once

#include "llama.h"

#include <cstddef>
#include <vector>

namespace ps {

// Selecting from one row; the scratch memory is used again.
class selector {
public:
    // At least the k highest logits of the row that are above -infinity, in token order; equals of the k-th may come
    // with it. NaN counts as -infinity.
    void top(const float * row, size_t n, size_t k, std::vector<llama_token_data> & out);

    // All logits of at least `least`, in token order. top() must have seen the row.
    void above(const float * row, size_t n, float least, std::vector<llama_token_data> & out);

private:
    void maxima(const float * row, size_t n);

    std::vector<float> blocks;  // the highest logit of each block of the row
    std::vector<float> order;
};

// What is more than this is treated as this: llama.cpp sorts into buckets through an int.
constexpr float max_logit = 1e6f;

float tame(float logit);

}  // namespace ps
