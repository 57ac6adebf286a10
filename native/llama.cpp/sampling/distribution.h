// SPDX-License-Identifier: MIT
// What a row of logits says as a whole: how likely each logit is, and how sure the model is.
#pragma once

#include <cstddef>

namespace ps {

struct distribution {
    float log_sum = 0;  // the natural logarithm of the sum of exp(logit): a log-probability is a logit less this. -infinity: there is no token
    float entropy = 0;  // in nats
};

// NaN counts as -infinity, and logits above max_logit as that.
distribution distribution_of(const float * row, size_t n);

}  // namespace ps
