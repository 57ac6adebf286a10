// SPDX-License-Identifier: MIT
// The pages of a model's file that are mapped.
#pragma once

#include "llama.h"

namespace ps {

// Gives back the pages of the file that hold no weights in use: those of weights that were laid out
// anew, or copied to a device. They were read to be copied, and would else count as this process's
// memory beside the copies. Their addresses stay taken, and nothing may read there.
void give_back_pages(const llama_model * model);

}  // namespace ps
