// SPDX-License-Identifier: MIT
// Stands for llama.cpp's json-schema.cpp and json-schema-to-grammar.cpp. Parsers of tool calls ask
// of an argument's schema which kinds of values it takes, since text between tags is a string or
// JSON; that is all that is read here, from any JSON and within bounds. What fits the rest of it is
// the grammar's business, which Go makes from the parser itself (host/grammar/peg).
#include "json-schema.h"

#include "json-schema-to-grammar.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <unordered_map>
#include <utility>

using schema = common_chat_schema;
using types  = common_chat_schema::type_set;

namespace {

// What is nested deeper, or comes later, may be anything.
constexpr int    max_depth = 64, max_nodes = 5000;
constexpr size_t max_work  = 100000;

// How a prompt says that its answer has a grammar: native/template.go.
const char * const of_the_parser = "of the parser";

// For the arguments of a tool, parsers make lists of one, of two and so on: work by the square,
// which all tools of a prompt share. A thread renders one prompt.
constexpr size_t    max_squares = 8000000;
thread_local size_t squares     = 0;

struct known {
    types takes;
    virtual ~known() = default;
};

template <typename base> struct node : base, known {};

template <typename base> std::unique_ptr<node<base>> make(types takes) {
    auto made   = std::make_unique<node<base>>();
    made->takes = takes;
    return made;
}

types operator|(types a, const types & b) { return a |= b; }
types operator&(types a, const types & b) { return a &= b; }

types of_value(const common_json & v) {
    if (v.is_null()) {
        return { schema::TYPE_NULL };
    }
    if (v.is_boolean()) {
        return { schema::TYPE_BOOLEAN };
    }
    if (v.is_number()) {
        return { schema::TYPE_NUMBER, schema::TYPE_INTEGER };
    }
    if (v.is_string()) {
        return { schema::TYPE_STRING };
    }
    return v.is_array() ? types{ schema::TYPE_ARRAY } : types{ schema::TYPE_OBJECT };
}

types of_name(const std::string & name) {
    if (name == "number" || name == "integer") {
        return { schema::TYPE_NUMBER, schema::TYPE_INTEGER };
    }
    for (auto type : { schema::TYPE_NULL, schema::TYPE_BOOLEAN, schema::TYPE_STRING, schema::TYPE_ARRAY, schema::TYPE_OBJECT }) {
        if (name == schema::type_name(type)) {
            return { type };
        }
    }
    return types::all();
}

// The step of a JSON pointer within a URI.
std::string unescaped(const std::string & step) {
    std::string plain, text;
    for (size_t i = 0; i < step.size(); i++) {
        const bool escape = step[i] == '%' && i + 2 < step.size();
        plain += escape ? static_cast<char>(std::strtol(step.substr(i + 1, 2).c_str(), nullptr, 16)) : step[i];
        i += escape ? 2 : 0;
    }
    for (size_t i = 0; i < plain.size(); i++) {
        const bool escape = plain[i] == '~' && i + 1 < plain.size();
        text += !escape ? plain[i] : plain[++i] == '0' ? '~' : '/';
    }
    return text;
}

// The members that objects of a schema may have, in its order.
struct members {
    struct member {
        std::string         name;
        const common_json * schema;  // null: anything
        types               takes;
        bool                required;
    };

    std::vector<member>                     all;
    std::unordered_map<std::string, size_t> index;

    member & of(const std::string & name, const common_json * schema, types takes) {
        const auto [at, fresh] = index.emplace(name, all.size());
        if (fresh) {
            all.push_back({ name, schema, takes, false });
        }
        return all[at->second];
    }

    // Both hold.
    void meet(const members & other) {
        for (const auto & m : other.all) {
            auto & mine = of(m.name, m.schema, m.takes);
            if (mine.schema != m.schema) {
                mine.takes &= m.takes;
            }
            mine.required |= m.required;
        }
    }

    // One of them holds.
    void join(const members & other) {
        for (const auto & m : other.all) {
            auto & mine = of(m.name, m.schema, m.takes);
            mine.takes |= m.takes;
        }
    }
};

class reader {
  public:
    explicit reader(const common_json & root) : root(root) {}

    // An object, whatever the schema says: arguments are one.
    common_chat_schema_ptr document() {
        auto object = make<common_chat_schema_object>({ schema::TYPE_OBJECT });
        const auto found = members_of(root, 0);
        if ((squares += found.all.size() * found.all.size()) > max_squares) {
            throw std::runtime_error("the tools have too many arguments: at most 2800 are taken in one, and fewer in each of many");
        }
        for (const auto & m : found.all) {
            object->properties.push_back({ m.name, value(m.schema, m.takes, 0), m.required });
        }
        return object;
    }

  private:
    const common_json &                            root;
    std::unordered_map<const common_json *, types>       seen;
    std::unordered_map<std::string, const common_json *> targets;
    size_t                                               work  = 0;
    int                                                  nodes = 0;

    // Members that are looked at in the time of a visit: llama.cpp's objects keep them in a list.
    static constexpr size_t members_per_visit = 16;

    static const common_json * in(const common_json & v, const char * key) {
        return v.is_object() && v.contains(key) ? &v.at(key) : nullptr;
    }

    bool too_much(int depth) { return depth > max_depth || ++work > max_work; }

    // The same of a visit that looks for words in a schema.
    bool too_much(int depth, const common_json & v) { return (work += v.size() / members_per_visit) > max_work || too_much(depth); }

    // Where a reference within the document leads; null where that is not known here.
    const common_json * target(const common_json & ref) {
        if (!ref.is_string()) {
            return nullptr;
        }
        const std::string text = ref;
        if ((work += text.size() / 64) > max_work) {
            return nullptr;
        }
        const auto [known, fresh] = targets.emplace(text, nullptr);
        if (fresh) {
            known->second = find(known->first);
        }
        return known->second;
    }

    const common_json * find(std::string text) {
        const auto * id   = in(root, "$id");
        if (id && id->is_string()) {
            const std::string own = *id;
            text                  = !own.empty() && text.rfind(own + "#", 0) == 0 ? text.substr(own.size()) : text;
        }
        if (text != "#" && text.rfind("#/", 0) != 0) {
            return nullptr;
        }
        const common_json * at = &root;
        for (size_t from = 2; text.size() > 1 && at && from <= text.size();) {
            if (too_much(0, *at)) {
                return nullptr;
            }
            const size_t      end  = std::min(text.find('/', from), text.size());
            const std::string step = unescaped(text.substr(from, end - from));
            if (at->is_array()) {
                const size_t i = std::strtoul(step.c_str(), nullptr, 10);
                at             = i < at->size() ? &at->at(i) : nullptr;
            } else {
                at = in(*at, step.c_str());
            }
            from = end + 1;
        }
        return at;
    }

    // The kinds of values that a schema takes. While they are looked for they are all: what leads
    // to itself says nothing.
    types takes(const common_json & v, int depth) {
        if (v.is_boolean()) {
            return v.get<bool>() ? types::all() : types();
        }
        if (!v.is_object() || too_much(depth, v)) {
            return types::all();
        }
        const auto [at, fresh] = seen.emplace(&v, types::all());
        if (!fresh) {
            return at->second;
        }
        const types found = named(v) & said(v, depth);
        return seen[&v] = found == types::all() ? implied(v) : found;
    }

    // By the words that say so themselves.
    types named(const common_json & v) {
        types all = types::all();
        if (const auto * type = in(v, "type")) {
            types either;
            for (const auto & name : *type) {
                either |= name.is_string() ? of_name(name) : types::all();
            }
            all &= either;
        }
        if (const auto * value = in(v, "const")) {
            all &= of_value(*value);
        }
        const auto * values = in(v, "enum");
        if (values && values->is_array()) {
            types either;
            for (const auto & value : *values) {
                either |= of_value(value);
            }
            all &= either;
        }
        return all;
    }

    // By other schemas.
    types said(const common_json & v, int depth) {
        types all = types::all();
        if (const auto * ref = in(v, "$ref")) {
            if (const auto * to = target(*ref)) {
                all &= takes(*to, depth + 1);
            }
        }
        for (const char * word : { "anyOf", "oneOf", "allOf" }) {
            const auto * list = in(v, word);
            if (!list || !list->is_array() || list->empty()) {
                continue;
            }
            types either, both = types::all();
            for (const auto & part : *list) {
                const types one = takes(part, depth + 1);
                either |= one;
                both &= one;
            }
            all &= word[0] == 'a' && word[1] == 'l' ? both : either;
        }
        return all;
    }

    // What is written for one kind means it, though it says nothing of others.
    static types implied(const common_json & v) {
        for (const char * word : { "properties", "additionalProperties", "patternProperties", "required" }) {
            if (v.contains(word)) {
                return { schema::TYPE_OBJECT };
            }
        }
        for (const char * word : { "items", "prefixItems" }) {
            if (v.contains(word)) {
                return { schema::TYPE_ARRAY };
            }
        }
        for (const char * word : { "pattern", "format", "minLength", "maxLength" }) {
            if (v.contains(word)) {
                return { schema::TYPE_STRING };
            }
        }
        return types::all();
    }

    members members_of(const common_json & v, int depth) {
        members found;
        if (!v.is_object() || too_much(depth, v)) {
            return found;
        }
        const auto * properties = in(v, "properties");
        if (properties && properties->is_object()) {
            for (const auto & entry : properties->items()) {
                if (too_much(depth)) {
                    break;
                }
                found.of(entry.key(), &entry.value(), takes(entry.value(), 0));
            }
        }
        if (const auto * ref = in(v, "$ref")) {
            if (const auto * to = target(*ref)) {
                found.meet(members_of(*to, depth + 1));
            }
        }
        for (const char * word : { "allOf", "anyOf", "oneOf" }) {
            const auto * list = in(v, word);
            if (!list || !list->is_array()) {
                continue;
            }
            members either;
            for (const auto & part : *list) {
                word[1] == 'l' ? found.meet(members_of(part, depth + 1)) : either.join(members_of(part, depth + 1));
            }
            found.meet(either);
        }
        const auto * required = in(v, "required");
        if (required && required->is_array()) {
            for (const auto & name : *required) {
                if (too_much(depth)) {
                    break;
                }
                if (name.is_string()) {
                    found.of(name, nullptr, types::all()).required = true;
                }
            }
        }
        return found;
    }

    // A value. Only one template's parser looks into it, where it is written in tags within tags.
    common_chat_schema_ptr value(const common_json * v, types is, int depth) {
        const bool plain = v && depth < max_depth && ++nodes < max_nodes && !v->is_boolean() && is == takes(*v, 0);
        if (plain && is.is_only(schema::TYPE_OBJECT) && in(*v, "properties")) {
            auto object = make<common_chat_schema_object>(is);
            for (const auto & m : members_of(*v, 0).all) {
                object->properties.push_back({ m.name, value(m.schema, m.takes, depth + 1), m.required });
            }
            return object;
        }
        if (plain && is.is_only(schema::TYPE_ARRAY)) {
            auto         array = make<common_chat_schema_array>(is);
            const auto * items = in(*v, "items");
            const bool   one   = items && items->is_object();
            array->items       = value(one ? items : nullptr, one ? takes(*items, 0) : types::all(), depth + 1);
            return array;
        }
        for (const char * word : { "anyOf", "oneOf" }) {
            const auto * list = plain && !is.has(schema::TYPE_STRING) ? in(*v, word) : nullptr;
            if (list && list->is_array() && !list->empty()) {
                auto any = make<common_chat_schema_any_of>(is);
                for (const auto & part : *list) {
                    any->children.push_back(value(&part, takes(part, 0), depth + 1));
                }
                return any;
            }
        }
        return make<common_chat_schema_any>(is);
    }
};

}  // namespace

schema::type_set schema::value_types() const {
    const auto * is = dynamic_cast<const known *>(this);
    return is ? is->takes : type_set::all();
}

bool schema::may_be_string() const { return value_types().has(TYPE_STRING); }

const char * schema::kind_name(node_kind) { return "schema"; }

const char * schema::type_name(value_type type) {
    static const char * const names[] = { "null", "boolean", "number", "integer", "string", "array", "object" };
    return names[type];
}

common_chat_schema_document common_chat_schema_from_json(const common_json & json) {
    common_chat_schema_document made;
    made.root = reader(json).document();
    return made;
}

// The grammar is made elsewhere, so what would go into it is not asked for.
std::string build_grammar(const std::function<void(const common_grammar_builder &)> &, const common_grammar_options &) {
    return of_the_parser;
}

std::string json_schema_to_grammar(const common_json &, bool) { return of_the_parser; }

std::string gbnf_format_literal(const std::string & literal) { return literal; }
