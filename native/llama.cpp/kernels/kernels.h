// SPDX-License-Identifier: MIT
// Kernels are what computes products and attention on ggml's CPU backend: Penstock's own of this
// folder, those that ggml enters by extra buffer types, or its plain ones. This header says which
// there are and chooses between them.
#ifndef PENSTOCK_KERNELS_H
#define PENSTOCK_KERNELS_H

#include <cstdint>

struct ggml_tensor;
struct ggml_backend_buffer_type;

// The families of kernels, in the order of penstock.h. What no other family computes is left to
// ggml's plain kernels.
enum penstock_family { PENSTOCK_OWN, PENSTOCK_AMX, PENSTOCK_REPACK, PENSTOCK_PLAIN };
constexpr int penstock_choices = PENSTOCK_PLAIN;

// Operations are numbered: products by the ggml_type of their weights, and attention after all of
// those.
constexpr int penstock_attention = 63;

// The operations that a family has kernels for on this CPU, as bits.
uint64_t penstock_kernels_known(penstock_family family);

// What Penstock's products are computed with on this CPU, such as "AVX2"; "" where there are none.
const char * penstock_product_instructions();

// Lets each family compute the operations whose bits are set, and no others. The layout of weights
// is decided when their model is loaded, the rest when a pass is planned and again when it is
// computed, so nothing may be loading or computing meanwhile.
void penstock_kernels_allow(const uint64_t (&operations)[penstock_choices]);

// The family that computes products with these weights, by their layout and what is allowed.
penstock_family penstock_kernels_of(const ggml_tensor * weights);

// Who computed attention since the last penstock_kernels_allow, as bits: Penstock's kernel (1),
// ggml's (2).
int penstock_attention_computed_by();

// How long threads have waited for others in naps, all together, in nanoseconds: stall.h. They do
// not nap on a quiet machine.
extern "C" uint64_t penstock_stalled(void);

// Whether they nap; at first they do not.
extern "C" void penstock_naps(int on);

// The layout in memory that a family wants for weights; null where it takes them as they are.
ggml_backend_buffer_type * penstock_kernels_layout(penstock_family family);

// Say how the weights of a model are laid out that this thread loads in between: by at most how
// many threads, and whether the embedding is, too, where its type allows it. A model whose
// embedding is its output layer has it in memory once then, another would gain nothing.
void penstock_load_begins(int threads, bool embedding);
void penstock_load_ends();

// For tests: has a family's kernel for an operation crash, or change one number of each result.
enum penstock_fault { PENSTOCK_NO_FAULT, PENSTOCK_CRASH, PENSTOCK_WRONG_RESULT };
void penstock_kernel_inject_fault(penstock_family family, int operation, penstock_fault kind);

#endif
