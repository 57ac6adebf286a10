// SPDX-License-Identifier: MIT
// Whose kernels compute on the CPU: what loads and computes holds the choice as it is meanwhile.
#pragma once

#include <shared_mutex>

namespace ps {

std::shared_lock<std::shared_mutex> keep_kernels();

}  // namespace ps
