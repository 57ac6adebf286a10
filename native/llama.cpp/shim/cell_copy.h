// SPDX-License-Identifier: MIT
// Copies the cells of a sequence to main memory, back from it, or into another sequence. What is
// copied is settled at once; the bytes follow piece by piece between passes, so that no pass waits
// for all of them. Copies to main memory run during passes, on a thread.
#pragma once

#include "shim.h"

#include "ggml.h"
#include "llama-memory.h"

#include <chrono>
#include <thread>
#include <vector>

namespace ps {

// Memory from the system, which has it back as soon as it is freed.
class pages {
  public:
    explicit pages(size_t bytes);
    ~pages();
    pages(const pages &) = delete;
    uint8_t * data() const { return memory; }
    size_t    size() const { return n_used; }
    size_t    allocated() const { return n_allocated; }  // whole pages

  private:
    uint8_t * memory = nullptr;
    size_t    n_used, n_allocated;
};

// Drops a reference; if it was the last one to much memory, a thread of its own frees that.
void release(std::shared_ptr<pages> memory);

// A run of bytes to copy. A null tensor stands for the main memory.
struct extent {
    ggml_tensor * from;
    size_t        from_offset;
    ggml_tensor * to;
    size_t        to_offset, size;
};

// The copy of a context that runs now, if any.
class cell_copy {
  public:
    int32_t source = -1, target = -1;  // sequences; -1: main memory
    int32_t n_positions = 0;           // that are copied, from 0 on

    ~cell_copy() { stop_thread(); }
    // With a thread, copying goes on while passes run. The states of recurrent layers are copied at
    // once: any pass may move them, whichever sequences it computes, and their cells are another
    // sequence's then. The cells of attention stay where they are.
    void begin(llama_memory_t of, int32_t from, int32_t to, int32_t n, std::shared_ptr<pages> memory, std::vector<extent> what, bool on_thread = false);
    // Reports whether nothing is left to copy. At a copy that has a thread it only looks, unless it
    // is to copy here instead.
    bool advance(std::chrono::steady_clock::time_point until, bool here);
    void finish() { advance(std::chrono::steady_clock::time_point::max(), true); }
    // Finishes if positions of a sequence from p0 on are part of the copy.
    void finish_before_change(int32_t seq, int32_t p0);
    // Leaves the rest uncopied until the next advance.
    void stop_thread();

  private:
    std::thread       thread;
    std::atomic<bool> done{ false }, stopping{ false };

    // While the thread runs, only it uses these.
    std::vector<extent>    extents;
    size_t                 next = 0, offset = 0;  // the next byte to copy: of extent next
    std::shared_ptr<pages> memory;
    std::vector<uint8_t>   scratch;

    bool is_wanted() const;
    bool copy_some();
    void copy(const extent & e, size_t at, size_t size);
};

}  // namespace ps

// The cells of one sequence in main memory.
struct ps_state {
    std::shared_ptr<ps::pages> memory;
    int32_t                    n_positions = 0;
    ps::counted                count{ ps::live_states };
};
