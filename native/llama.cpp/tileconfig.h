// SPDX-License-Identifier: MIT
// Included before amx/mmq.cpp. GCC's _tile_loadconfig (before 11.5, 12.4, 13.3 and 14) tells the
// compiler that ldtilecfg reads 8 of the 64 bytes of a tile configuration, so the others are
// dropped as dead stores and the processor faults on what it finds instead. Its _tile_loadd does
// not say that it reads memory at all. Here both do. Other compilers know the instructions
// themselves.
#ifndef PENSTOCK_TILECONFIG_H
#define PENSTOCK_TILECONFIG_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__AMX_TILE__)
#include <immintrin.h>

static inline __attribute__((always_inline)) void penstock_tile_loadconfig(const void * config) {
    __asm__ volatile("ldtilecfg\t%X0" ::"m"(*(const char(*)[64])(config)));
}

#undef _tile_loadconfig
#define _tile_loadconfig penstock_tile_loadconfig

#undef _tile_loadd_internal
#define _tile_loadd_internal(tile, base, stride) \
    __asm__ volatile("{tileloadd\t(%0,%1,1), %%tmm" #tile "|tileloadd\t%%tmm" #tile ", [%0+%1*1]}" ::"r"((const void *)(base)), "r"((long)(stride)) : "memory")
#endif
#endif
