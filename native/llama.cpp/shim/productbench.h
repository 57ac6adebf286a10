// SPDX-License-Identifier: MIT
// What benchmarks of products and the choice between kernels need besides penstock.h.
#ifndef PENSTOCK_PRODUCTBENCH_H
#define PENSTOCK_PRODUCTBENCH_H

#include "penstock.h"

#ifdef __cplusplus
extern "C" {
#endif

// What Penstock's products are computed with on this CPU, such as "AVX2"; "" where there are none.
const char *ps_product_instructions(void) PS_NOEXCEPT;

// Measures a family's products with `copies` matrices of weights [width, results], in turn, and as
// many rows of inputs as is asked for. Not to be used while anything else computes: what
// ps_kernels_allow set is lost.
typedef struct ps_product_bench ps_product_bench;
int32_t ps_product_bench_new(int32_t family, int32_t operation, int64_t width, int64_t results, int32_t copies, int32_t threads,
                             ps_product_bench **out, ps_error *err) PS_NOEXCEPT;
int32_t ps_product_bench_run(ps_product_bench *b, int64_t rows, int32_t copies, double *seconds_each, ps_error *err) PS_NOEXCEPT;
void ps_product_bench_free(ps_product_bench *b) PS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
