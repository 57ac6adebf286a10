// SPDX-License-Identifier: MIT
#ifndef PENSTOCK_ATTENTION_H
#define PENSTOCK_ATTENTION_H

// Makes ggml's CPU backend compute attention with attention.cpp, or with its own kernels again. First called before other
// threads compute; later only while none does: a pass that was planned with one kernel must run with it.
void penstock_attention_set(bool on);

#endif
