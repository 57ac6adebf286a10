// SPDX-License-Identifier: MIT
// How C++ reports what went wrong: a fault is thrown, and the guard around every function of
// penstock.h turns it into a code and a reason.
#pragma once

#include "penstock.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace ps {

// An error with its ps_code; anything else thrown becomes PS_FAILED.
struct fault : std::runtime_error {
    int32_t code;
    fault(int32_t code, const std::string & text) : std::runtime_error(text), code(code) {}
};

// Fills in *err and returns code.
int32_t report(ps_error * err, int32_t code, const char * text) noexcept;

// Runs body and reports what it throws; no exception leaves.
template <typename Body> int32_t guarded(ps_error * err, Body && body) noexcept {
    try {
        body();
        if (err) {
            err->code    = PS_OK;
            err->text[0] = 0;
        }
        return PS_OK;
    } catch (const fault & f) {
        return report(err, f.code, f.what());
    } catch (const std::bad_alloc &) {
        return report(err, PS_NO_MEMORY, "out of memory");
    } catch (const std::exception & e) {
        return report(err, PS_FAILED, e.what());
    } catch (...) {
        return report(err, PS_FAILED, "llama.cpp threw something unknown");
    }
}

// The length of a text, cut to at most max bytes without splitting a UTF-8 character.
size_t clip(const char * text, size_t size, size_t max) noexcept;

}  // namespace ps
