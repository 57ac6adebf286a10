// SPDX-License-Identifier: MIT
// Included before ggml-cpu.c. The threads of a forward pass wait for each other after each
// operation, and in ggml they spin until the last has arrived. Where another program runs on the
// core of one of them, the others burn their time slices, and the kernel takes them for busy: it
// leaves the thread that all wait for behind the other program. So a thread that waits longer than
// threads do on a quiet machine yields, and then naps: its core is free for the thread that has
// lost its own. native/governor wants to know how long threads napped.
#ifndef PENSTOCK_STALL_H
#define PENSTOCK_STALL_H

#include <stdint.h>

uint64_t penstock_stalled(void);
void     penstock_naps(int on);

#if defined(__linux__) || defined(__APPLE__)
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

// ggml-cpu.c defines ggml_thread_cpu_relax(void), the first of these two, and calls
// ggml_thread_cpu_relax(), the second.
#define ggml_thread_cpu_relax(x) penstock_relax_##x(x)
static inline void penstock_relax_void(void);

static _Atomic uint64_t penstock_napped; // by all threads, in ns
static _Atomic int      penstock_may_nap;

// Off at first: llama.cpp's own tools, which are compared with Penstock, contain this file, too,
// and wait as they do everywhere.
void penstock_naps(int on) { atomic_store_explicit(&penstock_may_nap, on, memory_order_relaxed); }

uint64_t penstock_stalled(void) { return atomic_load_explicit(&penstock_napped, memory_order_relaxed); }

static uint64_t penstock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

// Called after a round of pauses. Rounds that follow each other without a gap are one wait: the
// shortest that was ever seen had none.
static void penstock_wait_on(void) {
    enum { yield_after = 20000, nap_after = 150000, nap = 20000 }; // ns
    static __thread uint64_t since, last, shortest = UINT64_MAX;
    const uint64_t now = penstock_now(), round = now - last;
    if (round < shortest) {
        shortest = round;
    }
    if (round > 2 * shortest) {
        since = now;
    }
    if (now - since >= nap_after) {
        const struct timespec t = { 0, nap };
        nanosleep(&t, 0);
        last = penstock_now();
        atomic_fetch_add_explicit(&penstock_napped, last - now, memory_order_relaxed);
        return;
    }
    if (now - since >= yield_after) {
        sched_yield();
    }
    last = penstock_now();
}

static inline void penstock_relax_(void) {
    static __thread unsigned pauses;
    penstock_relax_void();
    if ((++pauses & 255) == 0 && atomic_load_explicit(&penstock_may_nap, memory_order_relaxed)) {
        penstock_wait_on();
    }
}
#else
uint64_t penstock_stalled(void) { return 0; }
void     penstock_naps(int on) { (void) on; }
#endif
#endif
