// SPDX-License-Identifier: MIT
#include "huge_pages.h"

#include "ggml-cpu.h"
#include "llama-kv-cache-iswa.h"
#include "llama-kv-cache.h"
#include "llama-memory-hybrid-iswa.h"
#include "llama-memory-hybrid.h"

#include <set>
#include <stdexcept>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

std::vector<const llama_kv_cache *> caches_of(llama_memory_t memory) {
    if (const auto * m = dynamic_cast<llama_memory_hybrid *>(memory)) {
        return { m->get_mem_attn() };
    }
    if (const auto * m = dynamic_cast<llama_memory_hybrid_iswa *>(memory)) {
        return caches_of(m->get_mem_attn());
    }
    if (const auto * m = dynamic_cast<llama_kv_cache_iswa *>(memory)) {
        return { m->get_base(), m->get_swa() };
    }
    if (const auto * m = dynamic_cast<llama_kv_cache *>(memory)) {
        return { m };
    }
    return {};
}

}  // namespace

void ps::use_huge_pages(ggml_backend_buffer_t buffer) {
#ifdef MADV_HUGEPAGE
    constexpr uintptr_t large = 2 << 20;
    if (ggml_backend_buffer_get_type(buffer) != ggml_backend_cpu_buffer_type()) {
        return;
    }
    const auto base  = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer));
    const auto first = (base + large - 1) / large * large, end = (base + ggml_backend_buffer_get_size(buffer)) / large * large;
    auto * const pages = reinterpret_cast<char *>(first);
    // llama.cpp has filled it with zeros, and so with small pages: these go back, and zeros come
    // anew.
    if (first >= end || madvise(pages, end - first, MADV_HUGEPAGE) != 0 || madvise(pages, end - first, MADV_DONTNEED) != 0) {
        return;
    }
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    // A machine without that much memory is to fail now, and not in an answer.
    for (uintptr_t i = 0; i < end - first; i += page) {
        static_cast<volatile char *>(pages)[i] = 0;
    }
#endif
}

void ps::use_huge_pages(llama_memory_t memory, uint32_t layers) {
    std::set<ggml_backend_buffer_t> buffers;
    for (const auto * cache : caches_of(memory)) {
        for (uint32_t i = 0; i < layers; i++) {
            try {
                buffers.insert(cache->get_k_storage(static_cast<int32_t>(i))->buffer);
            } catch (const std::out_of_range &) { // the layer has none in this cache
            }
        }
    }
    for (auto * buffer : buffers) {
        use_huge_pages(buffer);
    }
}
