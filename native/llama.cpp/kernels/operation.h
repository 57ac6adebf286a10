// SPDX-License-Identifier: MIT
// What the kernels have in common: how ggml calls them, and how the threads of a pass divide the work.
#ifndef PENSTOCK_OPERATION_H
#define PENSTOCK_OPERATION_H

#include "ggml-cpu-impl.h"
#include "traits.h"

#include <cstdint>

namespace penstock {

// The kernel for an operation; null where ggml's own is to do it.
#ifndef PENSTOCK_NO_KERNELS
ggml::cpu::tensor_traits * attention_for(const ggml_tensor * op);
ggml::cpu::tensor_traits * product_for(const ggml_tensor * op);

bool         has_product(const ggml_tensor * weights); // whether there is a product for weights of this type and shape
uint64_t     product_types();                          // those for which there is one, as bits
const char * product_instructions();                   // what products are computed with: "AVX2"
#else // built with PENSTOCK_KERNELS=OFF
inline ggml::cpu::tensor_traits * attention_for(const ggml_tensor *) { return nullptr; }
inline ggml::cpu::tensor_traits * product_for(const ggml_tensor *) { return nullptr; }
inline bool         has_product(const ggml_tensor *) { return false; }
inline uint64_t     product_types() { return 0; }
inline const char * product_instructions() { return ""; }
#endif

// Calls work with each of the numbers [0, units). The threads of a pass take them one by one, so that one whose core is busy with
// something else takes fewer. All threads of the pass call it; none begins before all have reached it.
template <typename F> void share_work(const ggml_compute_params * params, int64_t units, F work) {
    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);
    for (int64_t u = params->ith; u < units; u = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        work(u);
    }
}

// The work memory of a pass, from its first whole cache line on. Kernels ask for 64 bytes more than they need.
inline char * aligned_memory(const ggml_compute_params * params) {
    return reinterpret_cast<char *>(GGML_PAD(reinterpret_cast<uintptr_t>(params->wdata), 64));
}

} // namespace penstock

#endif
