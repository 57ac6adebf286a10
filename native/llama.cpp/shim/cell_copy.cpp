// SPDX-License-Identifier: MIT
#include "cell_copy.h"

#include "ggml-backend.h"
#include "llama-memory-hybrid-iswa.h"
#include "llama-memory-hybrid.h"
#include "llama-memory-recurrent.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#ifdef _WIN32
#    include <malloc.h>
#else
#    include <sys/mman.h>
#    include <sys/resource.h>
#    include <unistd.h>
#endif

namespace ps {

#ifdef _WIN32
pages::pages(size_t bytes) : n_used(bytes), n_allocated(bytes) {
    memory = static_cast<uint8_t *>(std::malloc(std::max<size_t>(bytes, 1)));
    if (!memory) {
        throw std::bad_alloc();
    }
}

pages::~pages() { std::free(memory); }
#else
pages::pages(size_t bytes) : n_used(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    n_allocated     = (std::max<size_t>(bytes, 1) + page - 1) / page * page;
    void * p        = mmap(nullptr, n_allocated, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        throw std::bad_alloc();
    }
    memory = static_cast<uint8_t *>(p);
}

pages::~pages() { munmap(memory, n_allocated); }
#endif

// The copying thread leaves the cores to the threads of a pass. Only on Linux does a single thread
// have a priority.
static void lower_priority() {
#ifdef __linux__
    setpriority(PRIO_PROCESS, 0, 10);
#endif
}

// To free a gigabyte takes the system a tenth of a second, which no pass should wait for.
void release(std::shared_ptr<pages> memory) {
    static constexpr size_t much = 8 << 20;
    if (memory.use_count() != 1 || memory->size() < much) {
        return;
    }
    try {
        std::thread([last = std::move(memory)] {}).detach();
    } catch (const std::exception &) {
        // there is no thread to be had: it is freed here
    }
}

// A state that was freed has left its memory to the copy alone.
bool cell_copy::is_wanted() const { return target >= 0 || !memory || memory.use_count() > 1; }

static const llama_memory_recurrent * recurrent_part_of(llama_memory_t memory) {
    if (const auto * m = dynamic_cast<llama_memory_hybrid *>(memory)) {
        return m->get_mem_recr();
    }
    if (const auto * m = dynamic_cast<llama_memory_hybrid_iswa *>(memory)) {
        return m->get_mem_recr();
    }
    return dynamic_cast<llama_memory_recurrent *>(memory);
}

// Puts the states of recurrent layers first, and returns how many they are.
static size_t states_first(llama_memory_t memory, std::vector<extent> & what) {
    const auto * recurrent = recurrent_part_of(memory);
    if (!recurrent) {
        return 0;
    }
    const auto is_state = [recurrent](const extent & e) {
        const auto among = [&e](const std::vector<ggml_tensor *> & all) {
            return std::find(all.begin(), all.end(), e.from ? e.from : e.to) != all.end();
        };
        return among(recurrent->r_l) || among(recurrent->s_l);
    };
    return static_cast<size_t>(std::stable_partition(what.begin(), what.end(), is_state) - what.begin());
}

void cell_copy::begin(llama_memory_t of, int32_t from, int32_t to, int32_t n, std::shared_ptr<pages> pages, std::vector<extent> what, bool on_thread) {
    finish();
    source = from, target = to, n_positions = n;
    memory  = std::move(pages);
    extents = std::move(what);
    next = offset = 0;
    for (const size_t n_states = states_first(of, extents); next < n_states;) {
        copy_some();
    }
    if (!on_thread) {
        return;
    }
    done = stopping = false;
    try {
        thread = std::thread([this] {
            lower_priority();
            while (!stopping && memory.use_count() > 1 && copy_some()) {
            }
            done = true;
        });
    } catch (const std::system_error &) {
        // there are too many threads: it is copied between passes
    }
}

void cell_copy::stop_thread() {
    if (thread.joinable()) {
        stopping = true;
        thread.join();
    }
}

bool cell_copy::advance(std::chrono::steady_clock::time_point until, bool here) {
    const bool wanted = is_wanted();
    if (thread.joinable() && wanted && !done && !here) {
        return false;
    }
    stop_thread();
    if (!wanted) {
        extents.clear();
    }
    while (next < extents.size() && copy_some()) {
        if (std::chrono::steady_clock::now() >= until) {
            return false;
        }
    }
    extents.clear();
    next   = 0;
    source = target = -1;
    release(std::move(memory));
    return true;
}

// So much is copied between two looks at the clock, through memory that stays in the CPU's cache.
static constexpr size_t stride = 64 << 10;

// Copies about a stride and tells whether anything is left.
bool cell_copy::copy_some() {
    for (size_t copied = 0; next < extents.size() && copied < stride;) {
        const extent & e    = extents[next];
        const size_t   size = std::min(stride, e.size - offset);
        copy(e, offset, size);
        offset += size;
        copied += size;
        if (offset == e.size) {
            next++, offset = 0;
        }
    }
    return next < extents.size();
}

void cell_copy::copy(const extent & e, size_t at, size_t size) {
    const size_t from = e.from_offset + at, to = e.to_offset + at;
    if (!e.from) {
        ggml_backend_tensor_set(e.to, memory->data() + from, to, size);
    } else if (!e.to) {
        ggml_backend_tensor_get(e.from, memory->data() + to, from, size);
    } else {
        scratch.resize(stride);
        ggml_backend_tensor_get(e.from, scratch.data(), from, size);
        ggml_backend_tensor_set(e.to, scratch.data(), to, size);
    }
}

void cell_copy::finish_before_change(int32_t seq, int32_t p0) {
    if ((seq == source || seq == target) && p0 < n_positions) {
        finish();
    }
}

}  // namespace ps
