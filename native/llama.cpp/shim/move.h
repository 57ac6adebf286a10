// SPDX-License-Identifier: MIT
// Copies of a sequence's cells, to memory, back from it, or into another sequence. What is copied is found out at once, the bytes
// follow piece by piece, so that nobody waits for all of them; those to memory follow beside the passes, on a thread of their own.
#pragma once

#include "shim.h"

#include "ggml.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace ps {

// Memory straight from the system, which has it again when it is freed.
class pages {
  public:
    explicit pages(size_t bytes);
    ~pages();
    pages(const pages &) = delete;
    uint8_t * data() const { return at; }
    size_t    size() const { return used; }
    size_t    taken() const { return whole; }  // whole pages

  private:
    uint8_t * at = nullptr;
    size_t    used, whole;
};

// Gives memory up; a large one on a thread of its own.
void let_go(std::shared_ptr<pages> memory);

// What is to be copied; a null tensor is the memory.
struct piece {
    ggml_tensor * from;
    size_t        from_at;
    ggml_tensor * to;
    size_t        to_at, size;
};

// One copy on its way.
class move {
  public:
    int32_t source = -1, target = -1;  // sequences; -1: memory
    int32_t positions = 0;             // from 0 on, that are copied

    ~move() { stop(); }
    // beside: what is read may be read while passes run.
    void begin(int32_t from, int32_t to, int32_t n, std::shared_ptr<pages> memory, std::vector<piece> what, bool beside = false);
    bool go_on(std::chrono::steady_clock::time_point until);  // true: it is done
    void finish() { go_on(std::chrono::steady_clock::time_point::max()); }
    // Finishes where positions of a sequence from p0 on are about to change.
    void before_change(int32_t seq, int32_t p0);
    // Ends the thread. What it has not copied is left.
    void stop();

  private:
    // All but these is the thread's while it runs.
    std::thread       thread;
    std::atomic<bool> done{ false }, stopped{ false };

    std::vector<piece>     pieces;
    size_t                 next = 0, within = 0;
    std::shared_ptr<pages> memory;
    std::vector<uint8_t>   scratch;

    bool step();
    void copy(const piece & p, size_t at, size_t size);
};

}  // namespace ps

// The cells of one sequence in memory.
struct ps_state {
    std::shared_ptr<ps::pages> memory;
    int32_t                    positions = 0;
    ps::counted                count{ ps::live_states };
};
