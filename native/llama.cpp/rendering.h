// SPDX-License-Identifier: MIT
// Included before chat.cpp. llama.cpp builds what a template is told, and has its own interpreter
// of Jinja make the prompt's text of it. That one is not Python's, so the text of a prompt comes
// from host/jinja; what llama.cpp finds out about a template by rendering it stays its own.
#ifndef PENSTOCK_RENDERING_H
#define PENSTOCK_RENDERING_H

#include "chat-auto-parser.h"
#include "json.h"

#include "jinja/runtime.h"

#include <functional>
#include <memory>
#include <string>

namespace penstock {

// Makes the text of what a template is told.
using writer = std::function<std::string(const common_json & told)>;

// Of this thread; null: llama.cpp's interpreter makes the text.
inline thread_local const writer *      writing = nullptr;
inline thread_local const common_json * told    = nullptr;  // to the template that is rendered next

// Has llama.cpp's interpreter make the texts for a while.
class own_interpreter {
  public:
    own_interpreter() : outer(writing) { writing = nullptr; }
    ~own_interpreter() { writing = outer; }
    own_interpreter(const own_interpreter &) = delete;

  private:
    const writer * outer;
};

// The program to execute instead of a template's: one that is the text.
inline const jinja::program & program_of(const jinja::program & program) {
    if (!writing) {
        return program;
    }
    static thread_local jinja::program text;
    text.body.clear();
    text.body.push_back(std::make_unique<jinja::string_literal>((*writing)(*told)));
    return text;
}

}  // namespace penstock

namespace jinja {

inline void tell(context & ctx, const common_json & values, bool mark_input) {
    if (penstock::writing) {
        penstock::told = &values;
    } else {
        global_from_json(ctx, values, mark_input);
    }
}

}  // namespace jinja

#define global_from_json tell
#define execute(program) execute(penstock::program_of(program))

#endif
