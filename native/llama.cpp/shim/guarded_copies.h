// SPDX-License-Identifier: MIT
// Copies of an operation's numbers beside pages that nothing may touch.
#ifndef PENSTOCK_GUARDED_COPIES_H
#define PENSTOCK_GUARDED_COPIES_H

#include "shim.h"

#include "ggml-backend.h"
#include "ggml-cpu.h"

#include <cstring>
#include <new>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace ps::trial {

// While it exists, an operation reads and writes such copies.
class guarded_copies {
  public:
    guarded_copies(ggml_tensor * op, int32_t guard) {
        if (guard == PS_GUARD_NONE) {
            return;
        }
        for (ggml_tensor * source : op->src) {
            if (source) {
                move(source, guard);
            }
        }
        move(op, guard);
        memset(op->data, 0xff, ggml_nbytes(op)); // NaN, so that a result which nobody writes is none
    }

    guarded_copies(const guarded_copies &) = delete;
    guarded_copies & operator=(const guarded_copies &) = delete;

    ~guarded_copies() {
        for (const auto & m : moved) {
            m.tensor->data = m.before;
            munmap(m.pages, m.size);
        }
    }

  private:
    struct one {
        ggml_tensor * tensor;
        void *        before;
        void *        pages;
        size_t        size;
    };

    std::vector<one> moved;

    void move(ggml_tensor * t, int32_t guard) {
        auto * const layout = ggml_backend_buffer_get_type(t->buffer);
        const size_t page   = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const bool   plain  = layout == ggml_backend_cpu_buffer_type();
        const size_t bytes  = plain ? ggml_nbytes(t) : GGML_PAD(ggml_backend_buft_get_alloc_size(layout, t), ggml_backend_buft_get_alignment(layout));
        const size_t inside = GGML_PAD(bytes, page), size = inside + 2 * page;
        void * const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) {
            throw std::bad_alloc();
        }
        auto * const begin = static_cast<char *>(pages) + page;
        moved.push_back({ t, t->data, pages, size });
        char * const to = guard == PS_GUARD_BEHIND ? begin + inside - bytes : begin;
        memcpy(to, t->data, plain ? bytes : ggml_backend_buft_get_alloc_size(layout, t));
        if (mprotect(pages, page, PROT_NONE) != 0 || mprotect(begin + inside, page, PROT_NONE) != 0) {
            throw fault(PS_FAILED, "the system protects no pages");
        }
        t->data = to;
    }
};

}  // namespace ps::trial

#endif
