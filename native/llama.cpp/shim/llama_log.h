// SPDX-License-Identifier: MIT
// What llama.cpp logs: lines for native's logger, and the reason of a failure for the error that
// reports it.
#pragma once

#include "penstock.h"

#include <string>

namespace ps {

// Sends what llama.cpp and ggml log to a callback.
void start_log(ps_log_fn log) noexcept;

// Collects the errors that llama.cpp logs on this thread during its lifetime, or the warnings if
// there is no error: llama.cpp returns no reason for a failure, it only logs one.
class log_capture {
  public:
    log_capture();
    ~log_capture();
    log_capture(const log_capture &) = delete;

    // The collected lines, or otherwise where there are none.
    std::string reason(const char * otherwise) const;
    void        add(int32_t level, const std::string & line);

    // Lines with this text warn of what is meant to be so, and are only information.
    void expect(const char * text) { expected = text; }
    bool expects(const std::string & line) const { return expected && line.find(expected) != std::string::npos; }

  private:
    const char * expected = nullptr;
    std::string   lines;
    int32_t       level = 0;  // of the lines
    log_capture * outer;
};

}  // namespace ps
