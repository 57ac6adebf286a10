// SPDX-License-Identifier: MIT
// What the kernels have in common: how ggml calls them, and how the threads of a pass divide the
// work.
#ifndef PENSTOCK_OPERATION_H
#define PENSTOCK_OPERATION_H

#include "ggml-cpu-impl.h"
#include "traits.h"

#include <atomic>
#include <cstdint>

namespace penstock {

// The kernel for an operation; null where ggml's own is to do it.
#ifndef PENSTOCK_NO_KERNELS
ggml::cpu::tensor_traits * attention_for(const ggml_tensor * op);
ggml::cpu::tensor_traits * product_for(const ggml_tensor * op);
ggml::cpu::tensor_traits * lookup_for(const ggml_tensor * op); // of rows of weights that are laid out

uint64_t     product_types();        // of weights for which there is a product, as bits
const char * product_instructions(); // what products are computed with: "AVX2"

ggml_backend_buffer_type * layout(); // the memory of weights that are laid out for products
#else // built with PENSTOCK_KERNELS=OFF
inline ggml::cpu::tensor_traits * attention_for(const ggml_tensor *) { return nullptr; }
inline ggml::cpu::tensor_traits * product_for(const ggml_tensor *) { return nullptr; }
inline ggml::cpu::tensor_traits * lookup_for(const ggml_tensor *) { return nullptr; }
inline uint64_t     product_types() { return 0; }
inline const char * product_instructions() { return ""; }
inline ggml_backend_buffer_type * layout() { return nullptr; }
#endif

inline bool is_laid_out(const ggml_tensor * weights) { return weights->buffer && weights->buffer->buft == layout(); }

// How the model is laid out that this thread loads. Of a model that is there without its numbers,
// for a dry run, the embedding may be looked up.
struct load_choice {
    int  threads   = 1;
    bool embedding = true; // too
};
load_choice & loading();

// Laying out goes by groups of rows; place is where a byte of the file's tensor stands then. A type
// without products stays as it is.
int64_t groups(const ggml_tensor * weights);
void    lay_out_group(const ggml_tensor * weights, const char * from, int64_t group);
size_t  place(const ggml_tensor * weights, size_t byte);

// Calls work with each of the numbers [0, units). The threads of a pass take them one by one, so
// that one whose core is busy with something else takes fewer. All threads of the pass call it;
// none begins before all have reached it.
template <typename F> void share_work(const ggml_compute_params * params, int64_t units, F work) {
    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);
    for (int64_t u = params->ith; u < units; u = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        work(u);
    }
}

// The work memory of a pass, from its first whole cache line on. Kernels ask for 64 bytes more than
// they need.
inline char * aligned_memory(const ggml_compute_params * params) {
    return reinterpret_cast<char *>(GGML_PAD(reinterpret_cast<uintptr_t>(params->wdata), 64));
}

// The part of [0, units) that one thread begins with, in a cache line of its own.
struct alignas(64) work_range {
    std::atomic<int64_t> next;
    int64_t              end;
};

// The same for work whose neighbours read neighbouring memory: a thread takes a range of its own in
// order, then what the others have left of theirs. A core fetches ahead what is read in order; with
// every other unit taken by another core it fetched in vain, and two cores read weights hardly
// faster than one. ranges has one for each thread, and an operation shares work once.
template <typename F> void share_ranges(const ggml_compute_params * params, work_range * ranges, int64_t units, F work) {
    const int64_t n = params->nth, i = params->ith;
    ranges[i].next = units * i / n;
    ranges[i].end  = units * (i + 1) / n;
    ggml_barrier(params->threadpool);
    for (int64_t r = 0; r < n; r++) {
        work_range & range = ranges[(i + r) % n];
        for (int64_t u = range.next++; u < range.end; u = range.next++) {
            work(u);
        }
    }
}

} // namespace penstock

#endif
