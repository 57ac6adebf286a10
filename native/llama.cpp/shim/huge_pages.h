// SPDX-License-Identifier: MIT
// Pages of 2 MiB for large memory, with which a core finds its addresses faster.
#pragma once

#include "ggml-backend.h"
#include "llama-memory.h"

#include <cstdint>

namespace ps {

// Asks the system for huge pages. What the buffer has is lost: it is zeros afterwards. Other
// buffers than those of plain main memory stay as they are.
void use_huge_pages(ggml_backend_buffer_t buffer);

// The same for the buffers of keys and values, which hold nothing yet.
void use_huge_pages(llama_memory_t memory, uint32_t layers);

}  // namespace ps
