// SPDX-License-Identifier: MIT
// A context with its worker threads and the columns of a batch.
#pragma once

#include "move.h"
#include "shim.h"

#include "ggml-cpu.h"

#include <vector>

struct ps_context {
    ps_model *         model   = nullptr;
    llama_context *    context = nullptr;
    ggml_threadpool_t  pool    = nullptr;
    ps_context_limits  limits{};
    bool               unified = true;
    std::atomic<bool>  aborted{ false };
    std::vector<int32_t>        ones;  // sequences of each token: always one
    std::vector<llama_seq_id *> seq_ptr;
    ps::move                    moving;
    ps::counted        count{ ps::live_contexts };

    ~ps_context();
    void check_sequence(int32_t seq) const;
};
