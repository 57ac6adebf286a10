// SPDX-License-Identifier: MIT
// Included before the interpreter of Jinja. A template may loop for long over a conversation, and
// who asked for the prompt may be gone. The interpreter asks at each place where it would print
// what it does, were it told to.
#ifndef PENSTOCK_WAITING_H
#define PENSTOCK_WAITING_H

#include "jinja/runtime.h"

#include <atomic>
#include <cstdint>

namespace penstock {

// Set where nobody waits for the work of this thread any more; null: it is not asked.
inline thread_local const std::atomic<int32_t> * given_up = nullptr;

// Ends the work. It is no std::exception: the interpreter makes those complaints of the template.
struct nobody_waits {};

inline void still_waited_for() {
    if (given_up && given_up->load(std::memory_order_relaxed)) {
        throw nobody_waits{};
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
