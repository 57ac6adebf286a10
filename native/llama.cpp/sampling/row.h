// SPDX-License-Identifier: MIT
// Passes over whole rows of logits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ps {

// Writes a row's logits where the mask has a bit and -infinity elsewhere; to has room for n, mask
// for (n + 31) / 32 words.
void mask_row(float * to, const float * row, size_t n, const uint32_t * mask);

// The first logit that is NaN or +infinity, or n.
size_t first_invalid(const float * row, size_t n);

}  // namespace ps
