// SPDX-License-Identifier: MIT
// Devices of other machines, which ggml's RPC backend computes with.
#pragma once

#include "ggml-backend.h"

#include <vector>

namespace ps {

// A device of this machine or of another by its name; null: there is none.
ggml_backend_dev_t find_device(const char * name);

// The devices of other machines that are open.
std::vector<ggml_backend_dev_t> remote_devices();

}  // namespace ps
