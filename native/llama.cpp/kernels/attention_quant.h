// SPDX-License-Identifier: MIT
// Scores of quantised keys in whole numbers, as products with quantised weights are computed: a key
// is a row of weights, a query a row of inputs. This header knows no vectors, since attention's and
// those of products differ on some CPUs.
#ifndef PENSTOCK_ATTENTION_QUANT_H
#define PENSTOCK_ATTENTION_QUANT_H

#include "ggml.h"

#include <cstdint>

namespace penstock {

struct quantised_keys {
    int64_t query_size; // bytes of 32 numbers of a query

    // Quantises queries, row after row.
    void (*quantise)(const float * queries, int64_t width, int64_t rows, char * to);

    // The scores of n keys, those of query r at to[r * to_width]. There are as many more of both as
    // fill a vector. The rows of `ahead` are fetched.
    void (*score)(const char * const * keys, const char * const * ahead, int64_t n, int64_t width, const char * queries, int64_t rows, float * to,
                  int64_t to_width);
};

// Null where keys of a type are computed with as floats.
const quantised_keys * quantised_keys_of(ggml_type type);

} // namespace penstock

#endif
