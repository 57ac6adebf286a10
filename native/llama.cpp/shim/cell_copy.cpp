// SPDX-License-Identifier: MIT
#include "cell_copy.h"

#include "ggml-backend-impl.h"
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

static ggml_tensor * root_of(ggml_tensor * t) { return t->view_src ? t->view_src : t; }

static bool is_on_device(ggml_tensor * t) { return t && !ggml_backend_buffer_is_host(root_of(t)->buffer); }

// So much is copied between two looks at the clock: through memory that stays in the CPU's cache;
// to or from a device, or within one, so much that the calls take little of the time.
static size_t stride_of(const extent & e) {
    const bool from = is_on_device(e.from), to = is_on_device(e.to);
    return from && to ? 4 << 20 : from || to ? 256 << 10 : 64 << 10;
}

// Copies about a stride and tells whether anything is left. Of small pieces, which take a device as
// long as larger ones, there are at most 32 between two looks.
bool cell_copy::copy_some() {
    for (size_t copied = 0; next < extents.size();) {
        const extent & e      = extents[next];
        const size_t   stride = stride_of(e);
        if (copied >= stride) {
            break;
        }
        const size_t size = std::min(stride, e.size - offset);
        copy(e, offset, size);
        offset += size;
        copied += is_on_device(e.from) || is_on_device(e.to) ? std::max(size, stride / 32) : size;
        if (offset == e.size) {
            next++, offset = 0;
        }
    }
    return next < extents.size();
}

// A part of a tensor's values, as bytes.
static ggml_tensor bytes_of(ggml_tensor * t, size_t offset, size_t size) {
    ggml_tensor out{};
    out.type      = GGML_TYPE_I8;
    out.buffer    = root_of(t)->buffer;
    out.ne[0]     = static_cast<int64_t>(size);
    out.ne[1] = out.ne[2] = out.ne[3] = 1;
    out.nb[0]     = 1;
    out.nb[1] = out.nb[2] = out.nb[3] = size;
    out.view_src  = root_of(t);
    out.view_offs = t->view_offs + offset;
    out.data      = static_cast<char *>(t->data) + offset;
    return out;
}

// Has a device copy from one of its tensors to another; false where it cannot.
static bool copy_on_device(ggml_tensor * from, size_t from_offset, ggml_tensor * to, size_t to_offset, size_t size) {
    if (!is_on_device(from) || !is_on_device(to)) {
        return false;
    }
    const ggml_tensor source = bytes_of(from, from_offset, size);
    ggml_tensor       target = bytes_of(to, to_offset, size);
    return ggml_backend_buffer_copy_tensor(&source, &target);
}

void cell_copy::copy(const extent & e, size_t at, size_t size) {
    const size_t from = e.from_offset + at, to = e.to_offset + at;
    if (!e.from) {
        ggml_backend_tensor_set(e.to, memory->data() + from, to, size);
    } else if (!e.to) {
        ggml_backend_tensor_get(e.from, memory->data() + to, from, size);
    } else if (!copy_on_device(e.from, from, e.to, to, size)) {
        scratch.resize(std::max(scratch.size(), size));
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
