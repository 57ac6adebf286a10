// SPDX-License-Identifier: MIT
#include "move.h"

#include "ggml-backend.h"

#include <algorithm>
#include <cstdlib>

#ifdef _WIN32
#    include <malloc.h>
#else
#    include <sys/mman.h>
#    include <sys/resource.h>
#    include <unistd.h>
#endif

namespace ps {

#ifdef _WIN32
pages::pages(size_t bytes) : used(bytes), whole(bytes) {
    at = static_cast<uint8_t *>(std::malloc(std::max<size_t>(bytes, 1)));
    if (!at) {
        throw std::bad_alloc();
    }
}

pages::~pages() { std::free(at); }
#else
pages::pages(size_t bytes) : used(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    whole           = (std::max<size_t>(bytes, 1) + page - 1) / page * page;
    void * p        = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        throw std::bad_alloc();
    }
    at = static_cast<uint8_t *>(p);
}

pages::~pages() { munmap(at, whole); }
#endif

// The thread that copies leaves processors to those of a pass. Only Linux has priorities of single threads that end with them.
static void lower_priority() {
#ifdef __linux__
    setpriority(PRIO_PROCESS, 0, 10);
#endif
}

// The system takes a tenth of a second to take back a gigabyte, which nobody should wait for.
void let_go(std::shared_ptr<pages> memory) {
    static constexpr size_t worth = 8 << 20;
    if (memory.use_count() != 1 || memory->size() < worth) {
        return;
    }
    try {
        std::thread([last = std::move(memory)] {}).detach();
    } catch (const std::exception &) {
        // then it is waited for
    }
}

void move::begin(int32_t from, int32_t to, int32_t n, std::shared_ptr<pages> memory_, std::vector<piece> what, bool beside) {
    finish();
    source = from, target = to, positions = n;
    memory = std::move(memory_);
    pieces = std::move(what);
    next = within = 0;
    if (!beside) {
        return;
    }
    done = stopped = false;
    try {
        thread = std::thread([this] {
            lower_priority();
            while (!stopped && memory.use_count() > 1 && step()) {  // alone it has a state that was freed
            }
            done = true;
        });
    } catch (const std::system_error &) {
        // there are too many threads: it is copied between passes
    }
}

void move::stop() {
    if (thread.joinable()) {
        stopped = true;
        thread.join();
    }
}

bool move::go_on(std::chrono::steady_clock::time_point until) {
    const bool wanted = target >= 0 || !memory || memory.use_count() > 1;  // else the state was freed
    if (thread.joinable() && wanted && !done && until != until.max()) {
        return false;
    }
    stop();
    if (!wanted) {
        pieces.clear();
    }
    while (next < pieces.size() && step()) {
        if (std::chrono::steady_clock::now() >= until) {
            return false;
        }
    }
    pieces.clear();
    next   = 0;
    source = target = -1;
    let_go(std::move(memory));
    return true;
}

// So much is copied between two looks at the clock, through memory that stays in the CPU's cache.
static constexpr size_t stride = 64 << 10;

// Copies about a stride and tells whether anything is left.
bool move::step() {
    for (size_t copied = 0; next < pieces.size() && copied < stride;) {
        const piece & p    = pieces[next];
        const size_t  size = std::min(stride, p.size - within);
        copy(p, within, size);
        within += size;
        copied += size;
        if (within == p.size) {
            next++, within = 0;
        }
    }
    return next < pieces.size();
}

void move::copy(const piece & p, size_t at, size_t size) {
    const size_t from_at = p.from_at + at, to_at = p.to_at + at;
    if (!p.from) {
        ggml_backend_tensor_set(p.to, memory->data() + from_at, to_at, size);
    } else if (!p.to) {
        ggml_backend_tensor_get(p.from, memory->data() + to_at, from_at, size);
    } else {
        scratch.resize(stride);
        ggml_backend_tensor_get(p.from, scratch.data(), from_at, size);
        ggml_backend_tensor_set(p.to, scratch.data(), to_at, size);
    }
}

void move::before_change(int32_t seq, int32_t p0) {
    if ((seq == source || seq == target) && p0 < positions) {
        finish();
    }
}

}  // namespace ps
