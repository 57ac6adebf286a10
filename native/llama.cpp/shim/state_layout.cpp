// SPDX-License-Identifier: MIT
#include "state_layout.h"

#include "context.h"

#include <algorithm>

namespace ps {

void state_layout::write(const void * src, size_t size) {
    if (!parts.empty() && !parts.back().tensor) {
        parts.back().size += size;
    } else {
        parts.push_back({ nullptr, header.size(), size });
    }
    const auto * p = static_cast<const uint8_t *>(src);
    header.insert(header.end(), p, p + size);
    total += size;
}

void state_layout::write_tensor(ggml_tensor * tensor, size_t offset, size_t size) {
    parts.push_back({ tensor, offset, size });
    total += size;
}

void state_layout::drop_header() {
    parts.erase(std::remove_if(parts.begin(), parts.end(), [](const state_part & p) { return !p.tensor; }), parts.end());
}

llama_memory_t memory_of(const ps_context * c) {
    auto * memory = llama_get_memory(c->context);
    if (!memory) {
        throw fault(PS_UNSUPPORTED, "this model keeps nothing between passes");
    }
    return memory;
}

}  // namespace ps
