// SPDX-License-Identifier: MIT
// Included before ggml-cpu.c. The threads of a forward pass wait for each other by spinning on _mm_pause without end. Where another
// program runs on the core of one of them, all others waste their time slices waiting for it: with two threads on two busy cores a
// token took a second instead of some milliseconds. A yield now and then lets it finish. On an idle machine waits end before the first
// yield, and nothing changes.
#ifndef PENSTOCK_YIELD_H
#define PENSTOCK_YIELD_H

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>
#include <sched.h>

static inline void penstock_pause(void) {
    static __thread unsigned spins;
    _mm_pause();
    if ((++spins & 1023) == 0) { // about 20 microseconds of waiting
        sched_yield();
    }
}

#define _mm_pause penstock_pause
#endif
#endif
