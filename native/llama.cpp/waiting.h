// SPDX-License-Identifier: MIT
// Included before the interpreter of Jinja. A template is a program by somebody else: it may loop
// for long, call itself for ever, or fill the memory, and who asked for the prompt may be gone. The
// interpreter asks at each place where it would print what it does, were it told to.
#ifndef PENSTOCK_WAITING_H
#define PENSTOCK_WAITING_H

#include "allowance.h"

#include "jinja/runtime.h"

#include <atomic>
#include <cstdint>

namespace penstock {

// Set where nobody waits for the work of this thread any more; null: it is not asked.
inline thread_local const std::atomic<int32_t> * given_up = nullptr;

// Ends the work, as too_much does.
struct nobody_waits {};

inline void still_waited_for() {
    if (given_up && given_up->load(std::memory_order_relaxed)) {
        throw nobody_waits{};
    }
    if (allowed && !allowed->step()) {
        throw too_much{};
    }
}

}  // namespace penstock

#undef JJ_DEBUG
#define JJ_DEBUG(msg, ...)                                          \
    do {                                                            \
        penstock::still_waited_for();                               \
        if (g_jinja_debug) {                                        \
            printf("%s:%-3d : " msg "\n", FILENAME, __LINE__, __VA_ARGS__); \
        }                                                           \
    } while (0)

#endif
