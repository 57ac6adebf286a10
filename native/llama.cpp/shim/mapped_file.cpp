// SPDX-License-Identifier: MIT
#include "mapped_file.h"

#include "ggml-backend.h"
#include "llama-model.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ps {

#if defined(MAP_ANONYMOUS) && defined(_SC_PAGESIZE)

// The whole pages between two addresses. It is not enough to have the system forget that they were
// read: a page beside them that is in use can bring them back, since the system maps the pages of a
// file in pieces of up to two megabytes.
static void give_back(uintptr_t first, uintptr_t end) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    first           = (first + page - 1) / page * page;
    end             = end / page * page;
    if (first < end) {
        mmap(reinterpret_cast<void *>(first), end - first, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
}

void give_back_pages(const llama_model * model) {
    std::set<ggml_backend_buffer_t>              maps;  // each from the first weight in use that a file has to the last
    std::vector<std::pair<uintptr_t, uintptr_t>> used;  // by any buffer, and wherever it lies
    for (const auto & [name, tensor] : llama_internal_get_tensor_map(model)) {
        auto * const buffer = tensor->buffer;
        const auto   data   = reinterpret_cast<uintptr_t>(tensor->data);
        used.emplace_back(data, data + ggml_nbytes(tensor));
        if (buffer && std::strcmp(ggml_backend_buft_name(ggml_backend_buffer_get_type(buffer)), "CPU_Mapped") == 0) {
            maps.insert(buffer);
        }
    }
    std::sort(used.begin(), used.end());
    for (auto * map : maps) {
        auto       at  = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(map));
        const auto end = at + ggml_backend_buffer_get_size(map);
        for (auto it = std::lower_bound(used.begin(), used.end(), std::make_pair(at, at)); it != used.end() && it->first < end; ++it) {
            give_back(at, it->first);
            at = std::max(at, it->second);
        }
        give_back(at, end);
    }
}

#else

void give_back_pages(const llama_model *) {}

#endif

}  // namespace ps
