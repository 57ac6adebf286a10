// SPDX-License-Identifier: MIT
// The shim is a thin C face over llama.cpp: it checks what llama.cpp would assert, and turns what
// it throws into codes. penstock.h is what package native sees; this header is what the files of
// the shim share.
#pragma once

#include "fault.h"
#include "llama_log.h"
#include "locked_memory.h"
#include "stack.h"

#include "llama.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <vector>

namespace ps {

// Copies bytes into memory that the caller frees with ps_text_free.
void return_text(ps_text * out, const char * data, size_t size);

// Counts the living objects of one kind.
struct counted {
    std::atomic<int64_t> & n;
    explicit counted(std::atomic<int64_t> & n) : n(n) { n++; }
    ~counted() { n--; }
    counted(const counted &) = delete;
};

extern std::atomic<int64_t> live_models, live_contexts, live_samplers, live_templates, live_answers, live_states, live_adapters, live_projectors,
    live_media;

}  // namespace ps

struct ps_model {
    llama_model *       model = nullptr;
    const llama_vocab * vocab = nullptr;
    int32_t             n_vocab = 0;
    ps::counted         count{ ps::live_models };

    std::shared_ptr<const void> loaded_with;  // parameters that llama.cpp keeps pointers into

    std::shared_mutex adapters;  // guards llama.cpp's list of the model's adapters: who plans a pass reads it

    std::vector<ps::locked_memory> locks;  // of the weights, if they are to stay in RAM

    ~ps_model() {
        locks.clear();  // while the memory is there
        llama_model_free(model);
    }
};
