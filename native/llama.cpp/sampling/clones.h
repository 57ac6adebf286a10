// SPDX-License-Identifier: MIT
// Functions that the compiler builds for several processors, of which the loader takes the best
// that this one can run. Elsewhere there is one build of them.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PS_CLONES
#endif
