// SPDX-License-Identifier: MIT
// Which families of kernels may compute on the CPU. What loads a model or computes a pass keeps the
// choice from changing meanwhile.
#pragma once

#include <shared_mutex>

namespace ps {

std::shared_lock<std::shared_mutex> lock_kernel_choice();

}  // namespace ps
