// SPDX-License-Identifier: MIT
// The memory of weights that are laid out for Penstock's products: a buffer type that takes them as
// they are in the file.
#include "operation.h"

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace {

// Calls work(i) for i < units, by as many threads as have a few megabytes each.
template <typename F> void in_parallel(int64_t units, size_t bytes, F work) {
    std::atomic<int64_t> next{ 0 };
    const auto take = [&] {
        for (int64_t i = next++; i < units; i = next++) {
            work(i);
        }
    };
    std::vector<std::thread> others;
    const auto threads = static_cast<size_t>(penstock::loading().threads);
    try {
        for (size_t i = 1; i < threads && i <= bytes >> 22; i++) {
            others.emplace_back(take);
        }
    } catch (const std::system_error &) { // there are no more threads to be had
    }
    take();
    for (auto & thread : others) {
        thread.join();
    }
}

void set_tensor(ggml_backend_buffer_t, ggml_tensor * weights, const void * from, size_t offset, size_t size) {
    const auto * bytes = static_cast<const char *>(from);
    if (offset == 0 && size == ggml_nbytes(weights)) {
        in_parallel(penstock::groups(weights), size, [&](int64_t group) { penstock::lay_out_group(weights, bytes, group); });
        return;
    }
    for (size_t i = 0; i < size; i++) {
        static_cast<char *>(weights->data)[penstock::place(weights, offset + i)] = bytes[i];
    }
}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor * weights, void * to, size_t offset, size_t size) {
    for (size_t i = 0; i < size; i++) {
        static_cast<char *>(to)[i] = static_cast<const char *>(weights->data)[penstock::place(weights, offset + i)];
    }
}

// In large pages if the system has them: with small ones a core waits for the places of pages, a
// tenth of the time that it reads weights.
void * allocate_pages(size_t size) {
    constexpr size_t large = 2 << 20;
    const size_t     page  = size >= large ? large : 64;
    void * const     data  = std::aligned_alloc(page, GGML_PAD(std::max<size_t>(size, 1), page));
#ifdef MADV_HUGEPAGE
    if (data && page == large) {
        madvise(data, GGML_PAD(size, large), MADV_HUGEPAGE); // a request: without them the memory is as good, but slower
    }
#endif
    return data;
}

ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, size_t size) {
    void * const data   = allocate_pages(size);
    auto * const buffer = data ? ggml_backend_cpu_buffer_from_ptr(data, size) : nullptr;
    if (buffer) {
        buffer->buft                = type;
        buffer->iface.free_buffer   = [](ggml_backend_buffer_t b) { std::free(ggml_backend_buffer_get_base(b)); };
        buffer->iface.set_tensor    = set_tensor;
        buffer->iface.get_tensor    = get_tensor;
        buffer->iface.memset_tensor = nullptr; // ggml says so then
        buffer->iface.cpy_tensor    = nullptr; // by the two above
    }
    return buffer;
}

} // namespace

ggml_backend_buffer_type * penstock::layout() {
    static ggml_backend_buffer_type type = {
        { [](ggml_backend_buffer_type_t) { return "PENSTOCK"; }, allocate, [](ggml_backend_buffer_type_t) -> size_t { return 64; }, nullptr, nullptr, nullptr },
        ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0), nullptr
    };
    return &type;
}
