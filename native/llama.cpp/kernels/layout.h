// SPDX-License-Identifier: MIT
// How weights lie in memory while they are multiplied: rows side by side, as many as a register has lanes, element by element. So the
// kernels read memory from its beginning to its end, and each load is a whole register with one element of each row.
//
// A format lists the pieces of the file's block and the size of their elements. The element at byte `at` of row r of a group stands at byte
// at * lanes + r * size of the group's block, so a layout takes as much memory as the file. Rows that fill no group stay as in the file.
#ifndef PENSTOCK_LAYOUT_H
#define PENSTOCK_LAYOUT_H

#include "lanes.h"

#ifdef PENSTOCK_PRODUCTS

#include "operation.h"

#include <algorithm>

namespace penstock {

// A part of a block in the file, after the one before it.
struct piece {
    int64_t end;     // where the next one begins
    int     element; // bytes of an element: 1, 2 or 4
};

// Lays out a block of as many rows as there are lanes. A piece of words is not shorter than 16 bytes.
template <typename Format> void lay_out(const char * const * rows, int64_t at, char * to) {
    int64_t begin = 0;
    for (const piece & p : Format::pieces) {
        for (int64_t i = begin; i < p.end; i += p.element == 4 ? 16 : p.element) {
            if (p.element == 4) {
                i = std::min(i, p.end - 16);
                words four[4];
                columns(rows, at + i, four);
                memcpy(to + i * lanes, four, sizeof(four));
            } else {
                for (int r = 0; r < lanes; r++) {
                    memcpy(to + i * lanes + r * p.element, rows[r] + at + i, p.element == 2 ? 2 : 1);
                }
            }
        }
        begin = p.end;
    }
}

// The file's blocks of a group of rows, laid out.
struct file_blocks {
    const char * data;

    words  word(int64_t at) const { return load<words>(data + at * lanes); }
    floats halves(int64_t at) const { return penstock::halves(data + at * lanes); }
    words  shorts(int64_t at) const { return __builtin_convertvector(load<penstock::shorts>(data + at * lanes), words); }
    words  bytes(int64_t at) const { return __builtin_convertvector(load<octets>(data + at * lanes), words); }
    floats signed_bytes(int64_t at) const { return to_floats(__builtin_convertvector(load<penstock::bytes>(data + at * lanes), ints)); }

    // n words of each row.
    void get(int64_t at, int n, words * to) const {
        for (int i = 0; i < n; i++) {
            to[i] = word(at + 4 * i);
        }
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
    template <typename Format> PENSTOCK_INLINE file_blocks blocks(int64_t i, char * memory) const {
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
