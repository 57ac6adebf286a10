// SPDX-License-Identifier: MIT
// Levels of the CPU, in a build that has kernels for several.
#ifndef PENSTOCK_LEVEL_H
#define PENSTOCK_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct penstock_level {
    const char *name;
    bool (*offered)(void);     // whether this CPU and its system have all that the level uses
    void *const *calls;        // the level's functions, in the order of penstock_level_calls
};

// The levels, lowest first, and where a call from elsewhere goes: levels.sh writes both. At first
// it is the lowest level.
extern const struct penstock_level penstock_levels[];
extern void *penstock_level_calls[];
extern const uint64_t penstock_level_calls_size; // bytes

#ifdef __cplusplus
}
#endif

#endif
