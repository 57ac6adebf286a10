// SPDX-License-Identifier: MIT
// Who computes what on ggml's CPU backend: Penstock's own kernels, those behind ggml's extra buffer types, or its plain ones.
#ifndef PENSTOCK_KERNELS_H
#define PENSTOCK_KERNELS_H

#include <cstdint>

struct ggml_tensor;
struct ggml_backend_buffer_type;

// The families that may be chosen, in the order of penstock.h. What none of them computes is left to ggml's plain kernels.
enum penstock_family { PENSTOCK_OWN, PENSTOCK_AMX, PENSTOCK_REPACK, PENSTOCK_PLAIN };
constexpr int penstock_choices = PENSTOCK_PLAIN;

// Operations are numbered: products by the ggml_type of their weights, and attention after all of those.
constexpr int penstock_attention = 63;

// What a family knows on this CPU, a bit for each operation.
uint64_t penstock_kernels_known(penstock_family family);

// Lets each family compute the operations whose bits are set, and no other. Which layout a weight gets is decided as its model is loaded;
// the rest as a pass is planned and again as it is computed, so nothing may be loading or computing meanwhile.
void penstock_kernels_allow(const uint64_t (&operations)[penstock_choices]);

// The family that computes products with these weights, by where they lie and what is allowed.
penstock_family penstock_kernels_of(const ggml_tensor * weights);

// Whether attention was computed by Penstock's kernel (1), or asked for and left to ggml (2), since the last change of what is allowed.
int penstock_attention_seen();

// The layout in memory that a family wants for weights of a type; null where it takes them as they are.
ggml_backend_buffer_type * penstock_kernels_layout(penstock_family family, int type);

// For tests: makes a family's kernel for an operation fault, or change one number of each result.
enum penstock_spoiling { PENSTOCK_SOUND, PENSTOCK_FAULTS, PENSTOCK_WRONG };
void penstock_kernels_spoil(penstock_family family, int operation, penstock_spoiling how);

#endif
