// SPDX-License-Identifier: MIT
// How weights lie in memory while they are multiplied: rows side by side, as many as a register has
// lanes, element by element. So the kernels read memory from its beginning to its end, and each
// load is a whole register with one element of each row.
//
// A format lists the pieces of the file's block, in the order in which its unpacker reads them, and
// the size of their elements. A layout takes as much memory as the file. Rows that fill no group
// stay as in the file.
#ifndef PENSTOCK_LAYOUT_H
#define PENSTOCK_LAYOUT_H

#include "lanes.h"

#ifdef PENSTOCK_PRODUCTS

#include "operation.h"

#include <algorithm>

namespace penstock {

// A part of a block in the file, in bytes.
struct piece {
    int64_t begin, size;
    int     element; // 1, 2 or 4 bytes
};

// Lays out a block of as many rows as there are lanes. A piece of words is of 16 bytes or more.
template <typename Format> PENSTOCK_INLINE void lay_out(const char * const * rows, int64_t at, char * to) {
#pragma GCC unroll 8
    for (const piece & p : Format::pieces) {
#pragma GCC unroll 8
        for (int64_t i = 0; i < p.size; i += p.element == 4 ? 16 : p.element) {
            if (p.element == 4) {
                i = std::min(i, p.size - 16);
                words four[4];
                columns(rows, at + p.begin + i, four);
                memcpy(to + i * lanes, four, sizeof(four));
            } else if (p.element == 2) { // in a register: what is stored in parts is slow to load as a whole
                penstock::shorts all;
                for (int r = 0; r < lanes; r++) {
                    all[r] = load<uint16_t>(rows[r] + at + p.begin + i);
                }
                memcpy(to + i * lanes, &all, sizeof(all));
            } else {
                for (int r = 0; r < lanes; r++) {
                    to[i * lanes + r] = rows[r][at + p.begin + i];
                }
            }
        }
        to += p.size * lanes;
    }
}

// A block of each row of a group, laid out, which is read from its beginning to its end: an element
// of each row, then the next.
struct group_block {
    const char * next;

    words  word() { return load<words>(step(4)); }
    floats halves() { return penstock::halves(step(2)); }
    words  shorts() { return __builtin_convertvector(load<penstock::shorts>(step(2)), words); }
    words  bytes() { return __builtin_convertvector(load<octets>(step(1)), words); }
    floats signed_bytes() { return to_floats(__builtin_convertvector(load<penstock::bytes>(step(1)), ints)); }

    template <int n> void get(words (&to)[n]) {
        for (words & w : to) {
            w = word();
        }
    }

  private:
    const char * step(int element) {
        next += lanes * element;
        return next - lanes * element;
    }
};

// A matrix of weights.
struct weight_matrix {
    const char * data;
    int64_t      stride, results; // bytes of a row, rows
    bool         laid_out;

    weight_matrix(const ggml_tensor * t, int64_t number)
        : data(static_cast<const char *>(t->data) + number * static_cast<int64_t>(t->nb[2])), stride(static_cast<int64_t>(t->nb[1])), results(t->ne[1]),
          laid_out(is_laid_out(t)) {}
};

// The group of rows that begins with row `first`.
struct weight_rows {
    const char * data;
    const char * rows[lanes]; // if they are as in the file; of fewer, the last stands for those that are missing
    bool         laid_out;

    weight_rows(const weight_matrix & m, int64_t first) : data(m.data + first * m.stride), laid_out(m.laid_out && m.results - first >= lanes) {
        for (int64_t r = 0; r < lanes && !laid_out; r++) {
            rows[r] = data + std::min(r, m.results - first - 1) * m.stride;
        }
    }

    // Number i of the file's blocks, in memory if it is to be laid out.
    template <typename Format> PENSTOCK_INLINE group_block block(int64_t i, char * memory) const {
        if (laid_out) {
            return { data + i * lanes * Format::size };
        }
        lay_out<Format>(rows, i * Format::size, memory);
        return { memory };
    }
};

} // namespace penstock

#endif
#endif
