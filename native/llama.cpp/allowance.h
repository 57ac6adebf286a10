// SPDX-License-Identifier: MIT
// What llama.cpp's interpreter of Jinja may take of a thread. It has no bounds of its own.
#ifndef PENSTOCK_ALLOWANCE_H
#define PENSTOCK_ALLOWANCE_H

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace penstock {

class allowance;

// Of this thread; null: it may take what it wants.
inline thread_local allowance * allowed = nullptr;

// Holds for this thread while it is there. A thread has one at a time.
class allowance {
  public:
    // Seconds are of the processor, bytes of memory; what was freed counts too.
    allowance(int seconds, int64_t bytes, ptrdiff_t stack) : until(now() + seconds), bytes(bytes), reserve(bytes), stack(stack) { allowed = this; }
    ~allowance() { allowed = nullptr; }
    allowance(const allowance &) = delete;

    // Whether one more step is allowed, this deep in the stack.
    bool step() {
        const char here = 0;
        late = late || (++steps % 64 == 0 && now() > until) || top - &here > stack;  // stacks grow downwards
        return !spent();
    }

    // Whether so much more memory is given. Too much in one step is refused once: what throws then
    // is destroyed, which may need some memory as well.
    bool take(size_t size) {
        const bool had = bytes >= -reserve;
        bytes -= static_cast<int64_t>(size);
        return !had || bytes >= -reserve;
    }

    bool spent() const { return late || bytes < 0; }

  private:
    static time_t now() {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return t.tv_sec;
    }

    const char   first = 0;
    const char * top   = &first;  // the frame that it stands in
    time_t       until;
    int64_t      bytes, reserve;
    ptrdiff_t    stack;
    uint32_t     steps = 0;
    bool         late  = false;
};

// Ends work that takes too much. It is no std::exception: the interpreter makes those complaints of
// the template.
struct too_much {};

// What the interpreter may take to find out about a template: many times what any that is known
// takes. host/model has a child process try a template first, with bounds of its own, so this is
// for what a template does only later, such as on another day.
constexpr int       max_seconds = 5;
constexpr int64_t   max_bytes   = int64_t(256) << 20;
constexpr ptrdiff_t max_stack   = ptrdiff_t(768) << 20;

// Runs body within these bounds, or within those that hold already.
template <typename Body> void within_bounds(Body && body) {
    if (allowed) {
        body();
        return;
    }
    allowance own(max_seconds, max_bytes, max_stack);
    try {
        body();
    } catch (...) {
        if (!own.spent()) {
            throw;
        }
    }
    if (own.spent()) {  // llama.cpp may have caught what ended it
        throw too_much{};
    }
}

}  // namespace penstock

#endif
