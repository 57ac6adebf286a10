// SPDX-License-Identifier: MIT
// The kernels of the CPU: the part of penstock.h about them, which includes it.
#ifndef PENSTOCK_KERNEL_API_H
#define PENSTOCK_KERNEL_API_H

// A family is a set of kernels for several operations: Penstock's own of ../kernels, ggml's for
// AMX, ggml's for repacked weights, and ggml's plain ones, which compute what no other family may.
// Operations are numbered, and bits of a set: products by the ggml_type of their weights, and
// attention.
enum { PS_KERNELS_OWN, PS_KERNELS_AMX, PS_KERNELS_REPACK, PS_KERNELS_PLAIN, PS_KERNELS_DEVICE /* no kernels of the CPU */ };
enum { PS_KERNELS_CHOICES = PS_KERNELS_PLAIN, PS_ATTENTION = 63 };

uint64_t ps_kernels_known(int32_t family) PS_NOEXCEPT; // the operations that a family has kernels for on this CPU
const char *ps_operation_name(int32_t operation) PS_NOEXCEPT; // "" where there is none

// Sets which operations each family may compute, from the next load and pass on: it waits for those
// that run.
void ps_kernels_allow(const uint64_t operations[PS_KERNELS_CHOICES]) PS_NOEXCEPT;

// Computes an operation with a family's kernel and in plain steps, for several numbers of rows.
// PS_FAILED where they differ; a kernel that crashes ends the process. Nothing else may be
// computing.
int32_t ps_kernel_check(int32_t family, int32_t operation, ps_error *err) PS_NOEXCEPT;

// Where an operation's numbers and results lie: anywhere, or before or behind a page that nothing
// may touch, so that a kernel crashes that reads or writes beyond them.
enum { PS_GUARD_NONE, PS_GUARD_BEHIND, PS_GUARD_BEFORE };

// An attention operation on random numbers, for trials, tests and benchmarks. The cells of the
// sequences alternate, and each has the same number of rows, which are its last. Types are ggml's.
typedef struct {
    int32_t head_dim_k, head_dim_v, heads, kv_heads, rows, cells, sequences, k_type, v_type;
    int32_t window;   // cells that a row sees; 0: all up to its own
    float   max_bias; // ALiBi's; 0: none
    float   soft_cap; // of scores; 0: none
    int32_t sinks;    // whether each head has one
    int32_t threads;
    int32_t guard;    // PS_GUARD_*
    int32_t spoiled;  // whether NaN lies between the rows of numbers, and in cells that no row sees
} ps_attention_case;

typedef struct ps_attention ps_attention;

int32_t ps_attention_new(const ps_attention_case *of, ps_attention **to, ps_error *err) PS_NOEXCEPT;
void    ps_attention_free(ps_attention *a) PS_NOEXCEPT;

// Replaces the queries [rows][heads][head_dim_k], keys [cells][kv_heads][head_dim_k] and values
// [cells][kv_heads][head_dim_v] that are not null.
int32_t ps_attention_put(ps_attention *a, const float *queries, const float *keys, const float *values, ps_error *err) PS_NOEXCEPT;

// Writes [rows][heads][head_dim_v] results, computed by the kernels that are allowed, or plainly in
// 64 bits.
int32_t ps_attention_compute(ps_attention *a, int32_t plainly, float *out, ps_error *err) PS_NOEXCEPT;

// Reads the keys and values once, by as many threads: no kernel is faster than that. Writes how
// many bytes they have.
int32_t ps_attention_read(const ps_attention *a, uint64_t *bytes, ps_error *err) PS_NOEXCEPT;

// A product of weights, laid out as a family wants them, and random rows; or of a mixture of
// experts, where each row has some of several matrices, and one input for all of them or one for
// each.
typedef struct {
    int32_t family, type, width, results, rows;
    int32_t experts, used; // 0: one matrix
    int32_t shared_input;  // whether a row's experts have the same input
    int32_t as_in_file;    // whether the weights stay as in the file, though the family would lay them out
    int32_t threads;
    int32_t guard;         // PS_GUARD_*
    int32_t spoiled;       // whether NaN lies between the rows of inputs, and no expert's number between those of a row
} ps_product_case;

typedef struct ps_product ps_product;

int32_t ps_product_new(const ps_product_case *of, ps_product **to, ps_error *err) PS_NOEXCEPT;
void    ps_product_free(ps_product *p) PS_NOEXCEPT;

// Replaces what is not null: the weights, as they lie in a file, inputs [rows][1 or experts
// used][width] and experts [rows][experts used].
int32_t ps_product_put(ps_product *p, const void *weights, const float *inputs, const int32_t *experts, ps_error *err) PS_NOEXCEPT;

// Writes [rows][experts used][results] results, computed by the kernels that are allowed, or
// plainly in 64 bits.
int32_t ps_product_compute(ps_product *p, int32_t plainly, float *out, ps_error *err) PS_NOEXCEPT;

// Copies a part of the bytes of weights, in the order of the file, to another product with weights
// of the same type and shape.
int32_t ps_product_copy_weights(const ps_product *from, ps_product *to, size_t offset, size_t size, ps_error *err) PS_NOEXCEPT;

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

// For tests: has a family's kernel for an operation crash (1), compute one number wrongly (2), or
// work again (0).
void ps_kernel_inject_fault(int32_t family, int32_t operation, int32_t kind) PS_NOEXCEPT;

// Who computed attention since the last ps_kernels_allow: 1 our kernel, 2 ggml's, 3 both, 0 no
// kernel yet.
int32_t ps_attention_computed_by(void) PS_NOEXCEPT;

#endif
