// SPDX-License-Identifier: MIT
// Where C++ gets its memory from. It is counted for threads that have an allowance: nothing else
// sees what a template makes.
#include "allowance.h"

#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ // as GCC has it
#endif
#endif

#if !defined(__SANITIZE_ADDRESS__) // which has its own

void * operator new(size_t size) {
    if (penstock::allowed && !penstock::allowed->take(size)) {
        throw std::bad_alloc();
    }
    for (;;) {
        if (void * p = std::malloc(size > 0 ? size : 1)) {
            return p;
        }
        const auto handler = std::get_new_handler();
        if (!handler) {
            throw std::bad_alloc();
        }
        handler();
    }
}

void operator delete(void * p) noexcept { std::free(p); }
void operator delete(void * p, size_t) noexcept { std::free(p); }

#endif
