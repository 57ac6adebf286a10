// SPDX-License-Identifier: MIT
// Memory that the system keeps in RAM.
#pragma once

#include <cstddef>

namespace ps {

// llama.cpp's own lock is never undone: memory that goes back to the heap would stay locked for the
// life of the process.
class locked_memory {
  public:
    // Locks the pages that the bytes lie in, or logs a warning where the system does not let it.
    // The memory must outlive this object.
    locked_memory(void * base, size_t size);
    locked_memory(locked_memory && other) noexcept;
    locked_memory & operator=(locked_memory &&) = delete;
    ~locked_memory();

  private:
    void * base;
    size_t size;
};

}  // namespace ps
