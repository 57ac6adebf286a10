// SPDX-License-Identifier: MIT
// Chat templates: llama.cpp's Jinja engine, and what it knows about the formats of tool calls.
#include "shim.h"

#include "chat-auto-parser.h"
#include "chat.h"
#include "common.h"
#include "json.h"
#include "log.h"

#include <memory>
#include <optional>

struct ps_template {
    common_chat_templates_ptr             templates;
    std::optional<autoparser::autoparser> analysis;  // of the template; none where llama.cpp has code for that very template
    ps::counted                           count{ ps::live_templates };
};

namespace {

// The Jinja parser, interpreter and destructor recurse with the nesting of the template. The shortest level of nesting is four bytes
// ("not "), check_source bounds brackets, and a level takes at most some KiB of stack: so a source of this size cannot use up this
// stack, which is address space and not memory.
constexpr size_t max_source = size_t(256) << 10;
constexpr size_t stack      = PS_TEMPLATE_STACK;
constexpr int    max_depth  = 1000;

// Bounds what makes the parser recurse at each byte: brackets, and operators in a row.
void check_source(const std::string & source) {
    if (source.size() > max_source) {
        throw ps::fault(PS_INVALID, "the chat template has " + std::to_string(source.size()) + " bytes; at most 256 KiB is taken");
    }
    int depth = 0, run = 0;
    for (const char c : source) {
        if (c == '(' || c == '[' || c == '{') {
            depth++;
        } else if (c == ')' || c == ']' || c == '}') {
            depth = depth > 0 ? depth - 1 : 0;
        }
        run = std::strchr("-+|.~*/%<>=!", c) ? run + 1 : 0;
        if (depth > max_depth || run > max_depth) {
            throw ps::fault(PS_INVALID, "the chat template nests more than " + std::to_string(max_depth) + " deep");
        }
    }
}

common_chat_templates_inputs inputs_of(const common_json & request) {
    common_chat_templates_inputs in;
    in.messages              = common_chat_msgs_parse_oaicompat(request.at("messages"));
    in.add_generation_prompt = request.value("add_generation_prompt", true);
    in.json_schema           = request.value("json_schema", "");
    if (request.contains("tools")) {
        in.tools = common_chat_tools_parse_oaicompat(request.at("tools"));
    }
    in.tool_choice = common_chat_tool_choice_parse_oaicompat(request.value("tool_choice", "auto"));
    if (request.contains("template_args")) {
        for (const auto & entry : request.at("template_args").items()) {
            in.chat_template_kwargs[entry.key()] = entry.value().dump();
        }
    }
    return in;
}

const char * kind_name(common_grammar_trigger_type type) {
    switch (type) {
        case COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN: return "token";
        case COMMON_GRAMMAR_TRIGGER_TYPE_WORD: return "word";
        case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN: return "pattern";
        case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN_FULL: return "pattern_full";
    }
    return "";
}

common_json json_of(const common_chat_params & p) {
    auto triggers = common_json::array();
    for (const auto & t : p.grammar_triggers) {
        triggers.push_back({ { "kind", kind_name(t.type) }, { "value", t.value }, { "token", t.token } });
    }
    auto out                  = common_json::object();
    out["text"]               = p.prompt;
    out["grammar"]            = p.grammar;
    out["grammar_lazy"]       = p.grammar_lazy;
    out["triggers"]           = triggers;
    out["stops"]              = p.additional_stops;
    out["preserved_tokens"]   = p.preserved_tokens;
    out["format"]             = common_chat_format_name(p.format);
    return out;
}

// llama.cpp finds out what a template does by rendering it dozens of times, for every conversation, unless it has code for that very
// template. The result depends on the template alone, so once is enough.
std::optional<autoparser::autoparser> analyse(const ps_model * model, const std::string & source) {
    const auto token = [&](llama_token t) { return t == LLAMA_TOKEN_NULL ? "" : common_token_to_piece(model->vocab, t, true); };
    const common_chat_template tmpl(source, token(llama_vocab_bos(model->vocab)), token(llama_vocab_eos(model->vocab)));
    try {
        autoparser::generation_params plain;
        plain.messages = common_json::array({ { { "role", "user" }, { "content", "?" } } });
        if (common_chat_try_specialized_template(tmpl, tmpl.source(), plain)) {
            return std::nullopt;
        }
        std::optional<autoparser::autoparser> found(std::in_place);
        found->analyze_template(tmpl);
        return found;
    } catch (const std::exception &) {
        return std::nullopt;  // rendering a conversation will fail with the reason
    }
}

bool is_plain(const common_chat_templates_inputs & in) {
    return in.tools.empty() && in.json_schema.empty();
}

// The answer to a conversation without tools and schema is free text: "pure content" renders the same prompt without another analysis.
common_chat_params apply(const ps_template * tmpl, common_chat_templates_inputs & in) {
    const auto & known     = tmpl->analysis;
    in.force_pure_content  = known && is_plain(in);
    common_chat_params out = common_chat_templates_apply(tmpl->templates.get(), in);
    if (in.force_pure_content) {
        out.additional_stops = known->additional_stops;
        out.preserved_tokens = known->preserved_tokens;
    }
    return out;
}

}  // namespace

int32_t ps_template_new(ps_model * model, const char * source, size_t size, ps_template ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        std::string text(source, size);
        if (text.empty()) {
            const char * own = llama_model_chat_template(model->model, nullptr);
            check_source(own ? own : "");
            own = llama_model_chat_template(model->model, "tool_use");
            check_source(own ? own : "");
        }
        check_source(text);
        auto t = std::make_unique<ps_template>();
        ps::with_stack(stack, [&] {
            t->templates = common_chat_templates_init(model->model, text);
            t->analysis  = analyse(model, common_chat_templates_source(t->templates.get()));
        });
        *out = t.release();
    });
}

void ps_template_free(ps_template * tmpl) noexcept {
    if (tmpl) {
        ps::guarded(nullptr, [&] { ps::with_stack(stack, [&] { delete tmpl; }); });
    }
}

int32_t ps_template_source(const ps_template * tmpl, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto source = common_chat_templates_source(tmpl->templates.get());
        ps::return_text(out, source.data(), source.size());
    });
}

int32_t ps_template_render(const ps_template * tmpl, const char * request, size_t size, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        ps::with_stack(stack, [&] {
            auto       in     = inputs_of(common_json::parse(std::string(request, size)));
            const auto result = json_of(apply(tmpl, in)).dump_safe();
            ps::return_text(out, result.data(), result.size());
        });
    });
}
