// SPDX-License-Identifier: MIT
// The C face of JSON schemas that become grammars.
#include "shim.h"

#include "json-schema-to-grammar.h"

// llama.cpp walks a schema recursively; native bounds its nesting. This is address space and not memory.
static constexpr size_t schema_stack = size_t(256) << 20, max_schema = size_t(256) << 10;

int32_t ps_grammar_of_schema(const char * schema, size_t size, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (size > max_schema) {
            throw ps::fault(PS_INVALID, "the JSON schema has " + std::to_string(size) + " bytes; at most 256 KiB is taken");
        }
        std::string text, problem;
        ps::with_stack(schema_stack, [&] {
            try {
                text = json_schema_to_grammar(common_json::parse(std::string(schema, size)), true);
            } catch (const std::bad_alloc &) {
                throw;
            } catch (const std::exception & e) {
                problem = std::string(e.what(), ps::clip(e.what(), std::strlen(e.what()), 500));
            }
        });
        if (!problem.empty()) {
            throw ps::fault(PS_INVALID, problem);
        }
        ps::return_text(out, text.data(), text.size());
    });
}
