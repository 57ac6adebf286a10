// SPDX-License-Identifier: MIT
// Penstock's own kernels for ggml's CPU backend.
#ifndef PENSTOCK_KERNELS_H
#define PENSTOCK_KERNELS_H

// Makes ggml's CPU backend use them, or only its own again. First called before other threads compute; later only while none does:
// a pass that was planned with one kernel must run with it.
void penstock_kernels_set(bool on);

// Whether products with weights in Q4_0 and Q8_0 are computed by them: they are on, and know this CPU.
bool penstock_kernels_multiply();

#endif
