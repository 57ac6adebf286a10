// SPDX-License-Identifier: MIT
// A context: llama.cpp's, its worker threads, and what a batch needs besides the caller's columns.
#pragma once

#include "cell_copy.h"
#include "head.h"
#include "hidden_states.h"
#include "shim.h"

#include "ggml-cpu.h"

#include <condition_variable>
#include <mutex>
#include <vector>

struct ps_context {
    ps_model *        model   = nullptr;
    llama_context *   context = nullptr;
    ggml_threadpool_t pool    = nullptr;
    ggml_threadpool_t batch_pool = nullptr;  // of passes with more than one token; null: the same
    ps_context_limits limits{};
    bool              unified = true;
    int32_t           output  = PS_LOGITS;
    std::atomic<bool> aborted{ false };
    int32_t           threads = 0, batch_threads = 0;  // the most that compute a token, and more tokens than one
    ps_pass_times     times{};                         // of the last pass
    bool              plans_anew = true;  // the next pass plans graphs anew, and reads the model's list of adapters for that

    // Passes wait while it is paused; a change is made under the mutex and announced.
    std::atomic<bool>       paused{ false };
    std::mutex              pause_mutex;
    std::condition_variable pause_changed;

    uint32_t n_copies = 0;  // of logits from a device
    double   row_copy = 0;  // ns that a row of logits took in the last copy that was timed

    // By token of a batch: its number of sequences, which is always one, and a pointer to that
    // sequence.
    std::vector<int32_t>        seq_counts;
    std::vector<llama_seq_id *> seq_ids;

    ps::cell_copy     copy;
    ps::hidden_states states;
    bool              feeds_head = false;
    ps::passed_states passed;             // where it feeds a head
    std::unique_ptr<ps::head> head;       // null: it is none
    ps::counted   count{ ps::live_contexts };

    ~ps_context();
    void check_sequence(int32_t seq) const;
    bool has_coordinates() const;  // a position is a time, a row and a column, so that a picture takes fewer positions than cells
    // Runs a pass that has been checked, of the model's encoder or of the model; throws where it
    // fails.
    void run(const llama_batch & batch, bool encode = false);
    // Notes how long the copy of the last pass's logits took, which lie on a device, to there.
    void note_copy(const ggml_tensor * logits, float * to);
};
