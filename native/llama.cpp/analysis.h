// SPDX-License-Identifier: MIT
// Included before chat.cpp. llama.cpp finds out what a template does, unless it has code for that
// very template, by rendering it dozens of times for every conversation. What it finds depends on
// the template alone, so here it is kept, by whoever renders.
#ifndef PENSTOCK_ANALYSIS_H
#define PENSTOCK_ANALYSIS_H

#include "allowance.h"
#include "rendering.h"

#include <map>
#include <mutex>
#include <optional>

namespace penstock {

// What is known of templates that outlive it.
class analyses {
  public:
    const autoparser::autoparser & of(const common_chat_template & tmpl) {
        std::lock_guard<std::mutex> lock(mutex);
        auto                        at = known.find(&tmpl);
        if (at == known.end()) {
            own_interpreter                       own;
            std::optional<autoparser::autoparser> fresh(std::in_place);
            try {
                within_bounds([&] { fresh->analyze_template(tmpl); });
            } catch (const too_much &) {
                fresh.reset();
            }
            at = known.emplace(&tmpl, std::move(fresh)).first;
        }
        if (!at->second) {
            throw too_much{};
        }
        return *at->second;
    }

  private:
    std::mutex                                                                     mutex;
    std::map<const common_chat_template *, std::optional<autoparser::autoparser>> known;  // none: it takes too much
};

// Where this thread keeps analyses; none: nowhere. After an analysis was looked up or made, used is
// that.
struct keeper {
    analyses *                     kept;
    const autoparser::autoparser * used;
};

inline thread_local keeper keeping{ nullptr, nullptr };

inline autoparser::autoparser analysis_of(const common_chat_template & tmpl) {
    if (keeping.kept) {
        keeping.used = &keeping.kept->of(tmpl);
        return *keeping.used;
    }
    autoparser::autoparser fresh;
    fresh.analyze_template(tmpl);
    return fresh;
}

}  // namespace penstock

#define analyze_template(tmpl) operator=(penstock::analysis_of(tmpl))

#endif
