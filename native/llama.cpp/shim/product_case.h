// SPDX-License-Identifier: MIT
// One product on random numbers, of one matrix or of a mixture of experts, computed by a kernel and
// in plain steps.
#ifndef PENSTOCK_PRODUCT_CASE_H
#define PENSTOCK_PRODUCT_CASE_H

#include "kernels/kernels.h"
#include "operation_trial.h"

// Row r of the inputs, and the weights, are the same in every case with the same type, width,
// results and experts.
struct ps_product {
    ps_product_case c;

    explicit ps_product(const ps_product_case & of);

    void set_rows(int64_t rows);

    bool is_supported() const; // whether the family that laid out the weights knows the operation

    std::vector<float> computed(); // [row][expert used][result]
    std::vector<float> computed_plainly() const; // in 64 bits

    bool is_looked_up() const; // whether rows of the weights are looked up right, each once, by the family that laid them out

    void put_weights(const void * as_in_file);
    void put_inputs(const float * numbers);
    void put_experts(const int32_t * numbers);

    ggml_tensor * weights;

  private:
    bool    mixed() const { return c.experts > 0; }
    int64_t used() const { return mixed() ? c.used : 1; }
    int64_t inputs_per_row() const { return mixed() && !c.shared_input ? c.used : 1; }

    ps::trial::context_ptr holder, context; // of the weights, and of the rest
    ps::trial::buffer_ptr  weight_memory, buffer;
    ps::trial::computer    computer;
    ggml_cgraph *          graph;
    ggml_tensor *          inputs, *ids, *out;
    std::vector<float>     w, x;    // as they are computed with
    std::vector<int32_t>   experts; // [row][expert used]
};

#endif
