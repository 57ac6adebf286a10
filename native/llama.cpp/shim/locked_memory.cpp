// SPDX-License-Identifier: MIT
#include "locked_memory.h"

#include "llama-mmap.h"

#include <cstdint>
#include <utility>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ps {

locked_memory::locked_memory(void * base, size_t size) : base(base), size(size) {
    llama_mlock lock;
    lock.init(base);
    lock.grow_to(size);
}

locked_memory::locked_memory(locked_memory && other) noexcept : base(other.base), size(std::exchange(other.size, 0)) {}

// The pages at both ends stay locked: what shares them may be another model's.
locked_memory::~locked_memory() {
#ifdef _POSIX_MEMLOCK_RANGE
    const auto page  = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = (reinterpret_cast<uintptr_t>(base) + page - 1) / page * page;
    const auto end   = (reinterpret_cast<uintptr_t>(base) + size) / page * page;
    if (first < end) {
        munlock(reinterpret_cast<void *>(first), end - first);
    }
#endif
}

}  // namespace ps
