// SPDX-License-Identifier: MIT
// Parts of llama.cpp recurse once for each character or nesting level (std::regex, the Jinja
// engine) and need more stack than a thread of Go has.
#pragma once

#include <cstddef>
#include <type_traits>

namespace ps {

void run_on_stack(size_t bytes, void (*body)(void *), void * argument);

// Runs body on a thread with a stack of at least so many bytes, waits for it, and throws what it
// throws.
template <typename Body> void with_stack(size_t bytes, Body && body) {
    using Plain = typename std::remove_reference<Body>::type;
    run_on_stack(bytes, [](void * argument) { (*static_cast<Plain *>(argument))(); }, &body);
}

}  // namespace ps
