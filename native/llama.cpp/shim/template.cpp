// SPDX-License-Identifier: MIT
// Chat templates: what llama.cpp tells them, and what it knows about the formats of tool calls.
#include "shim.h"
#include "template_source.h"

#include "analysis.h"
#include "chat.h"
#include "json.h"
#include "waiting.h"

#include <algorithm>
#include <memory>
#include <vector>

struct ps_template {
    common_chat_templates_ptr  templates;
    mutable penstock::analyses analyses;  // of templates
    std::string                foreign;   // its source, which llama.cpp cannot read; empty: it can
    bool                       by_name;   // llama.cpp writes the prompt with code of its own, which knows roles and texts only
    ps::counted                count{ ps::live_templates };
};

namespace {

// The Jinja parser, interpreter and destructor recurse with the nesting of the template. The
// shortest level of nesting is four bytes ("not "), check_template_size bounds brackets, and a
// level takes at most some KiB of stack: so a source of this size cannot use up this stack, which
// is address space and not memory.
constexpr size_t stack = PS_TEMPLATE_STACK;

std::vector<const char *> names() {
    std::vector<const char *> all(static_cast<size_t>(llama_chat_builtin_templates(nullptr, 0)));
    llama_chat_builtin_templates(all.data(), all.size());
    return all;
}

static_assert(penstock::max_stack < ptrdiff_t(stack), "the bound is within the stack");

// Runs body on a stack of its own, and says if it has taken too much.
template <typename Body> void on_stack(Body && body) {
    try {
        ps::with_stack(stack, body);
    } catch (const penstock::too_much &) {
        throw ps::fault(PS_FAILED, "it renders without end, or takes too much memory, where llama.cpp tries what it does");
    }
}

// Whether source is the name of a template that llama.cpp has code for. The one called chatml it
// has in Jinja too.
bool is_name(const std::string & source) {
    const auto all = names();
    return source != "chatml" && std::find(all.begin(), all.end(), source) != all.end();
}

// Stands in for a template that llama.cpp cannot read. By it llama.cpp tells that one everything:
// texts as texts, arguments as objects.
constexpr auto stand_in = R"({%- for m in messages %}{{- m.role + m.content }}{%- if m.tool_calls %}{%- for c in m.tool_calls %}
{{- c.id }}{{- c.function.name }}{%- for k, v in c.function.arguments.items() %}{{- k }}{{- v }}{%- endfor %}{%- endfor %}{%- endif %}{%- endfor %}
{%- if tools %}{%- for t in tools %}{{- t.function.name }}{%- endfor %}{%- endif %})";

common_chat_templates_inputs inputs_of(const ps_template * tmpl, const common_json & request) {
    common_chat_templates_inputs in;
    in.messages               = common_chat_msgs_parse_oaicompat(request.at("messages"));
    in.use_jinja              = !tmpl->by_name;
    in.force_pure_content     = !tmpl->foreign.empty();
    in.add_generation_prompt  = request.value("add_generation_prompt", false);
    in.continue_final_message = common_chat_continuation_parse(request.value("continue", common_json()));
    in.json_schema            = request.value("json_schema", "");
    in.grammar                = request.value("grammar", "");
    in.parallel_tool_calls    = request.value("parallel_tool_calls", false);
    in.enable_thinking        = request.value("enable_thinking", false);
    in.reasoning_format       = common_reasoning_format_from_name(request.value("reasoning_format", "none"));
    in.tool_choice            = common_chat_tool_choice_parse_oaicompat(request.value("tool_choice", "auto"));
    if (request.contains("tools")) {
        in.tools = common_chat_tools_parse_oaicompat(request.at("tools"));
    }
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
    auto out                 = common_json::object();
    out["text"]              = p.prompt;
    out["generation_prompt"] = p.generation_prompt;
    out["grammar"]           = p.grammar;
    out["grammar_lazy"]      = p.grammar_lazy;
    out["triggers"]          = triggers;
    out["stops"]             = p.additional_stops;
    out["preserved_tokens"]  = p.preserved_tokens;
    out["thinking_start"]    = p.thinking_start_tag;
    out["thinking_ends"]     = p.thinking_end_tags;
    out["format"]            = common_chat_format_name(p.format);
    out["parser"]            = p.parser;
    return out;
}

// Whether an answer to the conversation can be nothing but text. analysis is that of its template,
// if llama.cpp went by one.
bool is_free_text(const ps_template * tmpl, const common_chat_templates_inputs & in, const autoparser::autoparser * analysis) {
    const bool asks = !in.tools.empty() || !in.json_schema.empty() || in.continue_final_message != COMMON_CHAT_CONTINUATION_NONE;
    return tmpl->by_name || (!asks && analysis && analysis->reasoning.mode == autoparser::reasoning_mode::NONE &&
                             !analysis->content.is_always_wrapped());
}

common_json render(const ps_template * tmpl, const common_json & request) {
    const auto in     = inputs_of(tmpl, request);
    penstock::keeping = { &tmpl->analyses, nullptr };  // for this thread, which ends with the call
    auto out          = json_of(common_chat_templates_apply(tmpl->templates.get(), in));
    out["free_text"]  = is_free_text(tmpl, in, penstock::keeping.used);
    return out;
}

// A template that refuses a line from a user does not think either.
bool thinks(const ps_template * tmpl) {
    penstock::keeping = { &tmpl->analyses, nullptr };
    try {
        return !tmpl->by_name && tmpl->foreign.empty() && common_chat_templates_support_enable_thinking(tmpl->templates.get());
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &) {
        return false;
    }
}

common_json describe(const ps_template * tmpl) {
    auto out           = common_json::object();
    out["source"]      = tmpl->foreign.empty() ? common_chat_templates_source(tmpl->templates.get()) : tmpl->foreign;
    out["foreign"]     = !tmpl->foreign.empty();
    out["tool_source"] = common_chat_templates_source(tmpl->templates.get(), "tool_use");
    out["by_name"]     = tmpl->by_name;
    out["thinks"]      = thinks(tmpl);
    out["caps"]        = common_chat_templates_get_caps(tmpl->templates.get());
    return out;
}

}  // namespace

int32_t ps_template_names(ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        std::string lines;
        for (const char * name : names()) {
            lines += std::string(name) + "\n";
        }
        ps::return_text(out, lines.data(), lines.size());
    });
}

int32_t ps_template_new(ps_model * model, const char * source, size_t size, ps_template ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const std::string text(source, size);
        std::string       used = text;  // what is parsed for conversations without tools
        if (text.empty()) {
            const char * tools = llama_model_chat_template(model->model, "tool_use");
            ps::check_template_size(tools ? tools : "");  // where it does not parse, llama.cpp goes without
            const char * own = llama_model_chat_template(model->model, nullptr);
            used             = own ? own : "";
        }
        ps::check_template_size(used);
        auto t     = std::make_unique<ps_template>();
        t->by_name = is_name(text);
        on_stack([&] {
            if (!ps::is_template(used)) {
                t->foreign   = used;
                t->templates = common_chat_templates_init(model->model, stand_in);
                return;
            }
            penstock::within_bounds([&] { t->templates = common_chat_templates_init(model->model, text); });
        });
        *out = t.release();
    });
}

void ps_template_free(ps_template * tmpl) noexcept {
    if (tmpl) {
        ps::guarded(nullptr, [&] { ps::with_stack(stack, [&] { delete tmpl; }); });
    }
}

int32_t ps_template_describe(const ps_template * tmpl, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        on_stack([&] {
            std::string result;
            penstock::within_bounds([&] { result = describe(tmpl).dump_safe(); });
            ps::return_text(out, result.data(), result.size());
        });
    });
}

int32_t ps_template_render(const ps_template * tmpl, const char * request, size_t size, const int32_t * given_up, ps_write_fn write,
                           uintptr_t user, ps_text * out, ps_error * err) noexcept {
    static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t), "Go writes it as a number");
    const penstock::writer writer = [&](const common_json & told) {
        std::string text = told.dump_safe();
        ps_text     written{};
        if (write(user, text.data(), text.size(), &written) != 0) {
            throw ps::fault(PS_FAILED, "the template gives no text");
        }
        text.assign(written.data, written.size);
        ps_text_free(&written);
        return text;
    };
    return ps::guarded(err, [&] {
        try {
            on_stack([&] {  // what is set for this thread ends with the call
                penstock::given_up = reinterpret_cast<const std::atomic<int32_t> *>(given_up);
                penstock::writing  = write ? &writer : nullptr;
                const auto result  = render(tmpl, common_json::parse(std::string(request, size))).dump_safe();
                ps::return_text(out, result.data(), result.size());
            });
        } catch (const penstock::nobody_waits &) {
            throw ps::fault(PS_CANCELLED, "nobody waits for the prompt");
        }
    });
}
