// SPDX-License-Identifier: MIT
// Penstock's own kernels for ggml's CPU backend.
#ifndef PENSTOCK_KERNELS_H
#define PENSTOCK_KERNELS_H

// Makes ggml's CPU backend use them, or only its own again. First called before other threads compute; later only while none does:
// a pass that was planned with one kernel must run with it.
void penstock_kernels_set(bool on);

#endif
