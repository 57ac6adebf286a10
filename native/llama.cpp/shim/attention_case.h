// SPDX-License-Identifier: MIT
// One attention operation on random numbers, computed by a kernel and in plain steps.
#ifndef PENSTOCK_ATTENTION_CASE_H
#define PENSTOCK_ATTENTION_CASE_H

#include "operation_trial.h"

// Numbers depend on the sequence, the position and the head alone, so that a row is the same in
// every operation that has it. The cells of the sequences alternate. A row sees those of its
// sequence up to its own position, except some that are empty.
struct ps_attention {
    const ps_attention_case c;

    explicit ps_attention(const ps_attention_case & of);

    std::vector<float> computed(); // [row][head][head_dim_v]
    std::vector<float> computed_plainly() const; // in 64 bits

    uint64_t read() const; // keys and values; returns their bytes

    void put_numbers(const float * queries, const float * keys, const float * values);

  private:
    int64_t per_sequence() const { return c.rows / c.sequences; }
    int64_t sequence_of(int64_t row) const { return row / per_sequence(); }
    int64_t position_of(int64_t row) const { return c.cells / c.sequences - per_sequence() + row % per_sequence(); }
    bool    sees(int64_t row, int64_t cell) const;
    void    spoil_unseen();
    float   mask_of(int64_t row, int64_t cell) const;
    double  score_of(int64_t row, int64_t head, int64_t cell) const;

    ps::trial::context_ptr context;
    ps::trial::buffer_ptr  buffer;
    ps::trial::computer    computer;
    ggml_cgraph *          graph;
    ggml_tensor *          qs, *ks, *vs, *out;
    std::vector<float>     q, k, v, sinks; // as they are computed with
};

#endif
