// SPDX-License-Identifier: MIT
// A script is compiled and run once for each configuration, in penstock_plan: here is what it may
// export, and what the host is told that it needs.
#include <math.h>
#include <stdlib.h>
#include "script.h"

const char *const hook_names[HOOKS] = {"sample", "prepare", "accept", "stop", "filter", "messages", "template", "draft", "run"};
JSValue hooks[HOOKS];
int may_note, may_logprob, may_state;
JSValue penstock;

static JSValue plugin; // what the script exports under this name, as JSON has it
static Text source;    // while the script is read
static int evaluated;

static int is_of_name(char c) { return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$", c); }
static const char *const kinds[] = {"async", "const", "let", "var", "function", "class", NULL};

static int is_text(JSValueConst v, const char *text) {
  Text t;
  int same;
  if (!JS_IsString(v) || !read_text(v, "", &t)) return 0;
  same = t.n == strlen(text) && !memcmp(t.bytes, text, t.n);
  JS_FreeCString(js, t.bytes);
  return same;
}

// distance is Levenshtein's, of short names.
static int distance(const char *a, const char *b) {
  int before[32], n = strlen(b);
  if (strlen(a) > 24) return 99;
  for (int j = 0; j <= n; j++) before[j] = j;
  for (int i = 1; a[i - 1]; i++) {
    int corner = before[0];
    before[0] = i;
    for (int j = 1; j <= n; j++) {
      int up = before[j], best = corner + (a[i - 1] != b[j - 1]);
      if (up + 1 < best) best = up + 1;
      if (before[j - 1] + 1 < best) best = before[j - 1] + 1;
      before[j] = best;
      corner = up;
    }
  }
  return before[n];
}

static const char *nearest(const char *name, const char *const *list, int n, int most) {
  const char *best = NULL;
  for (int i = 0; i < n; i++) {
    int d = distance(name, list[i]);
    if (d <= most) { most = d - 1; best = list[i]; }
  }
  return best;
}

// # export const plugin

enum { CANDIDATES, HOLD, TAKE_BACK, BRANCHES, VIEW, PLACE, SUMMARY, CONFIG, NEEDS };
static const char *const fields[] = {"candidates", "hold", "takeBack", "branches", "view", "place", "summary", "config", "needs"};
static const struct { int least, most; } bounds[] = {{1, 4096}, {0, 256}, {0, 1000000}, {1, 64}};
static const char *const views[] = {"candidates", "logits", "none"}, *const places[] = {"first", "last"};
static const char *const needs[] = {"logprob", "hidden_state", "note"};
static int numbers[BRANCHES + 1], need[3]; // of the plan; need -1: as the source says
static JSValue values[COUNT(fields)];

static int one_of(JSValueConst v, const char *const *list, int n) {
  for (int i = 0; i < n; i++) if (is_text(v, list[i])) return i;
  return -1;
}

static int check_number(int field) {
  double x = 0;
  if (JS_IsUndefined(values[field])) return 0;
  if (JS_IsNumber(values[field])) JS_ToFloat64(js, &x, values[field]);
  if (!JS_IsNumber(values[field]) || x != floor(x) || x < bounds[field].least || x > bounds[field].most)
    return refuse_text(JS_UNDEFINED, "plugin.%s is %s; it must be a whole number from %d to %d", fields[field], describe(values[field]), bounds[field].least, bounds[field].most);
  numbers[field] = (int)x;
  return 0;
}

static int read_needs(void) {
  int64_t n;
  if (JS_IsUndefined(values[NEEDS])) return 0;
  if (!JS_IsArray(values[NEEDS])) return refuse_text(JS_UNDEFINED, "plugin.needs is %s; it must be a list of \"logprob\", \"hidden_state\" and \"note\"", describe(values[NEEDS]));
  JS_GetLength(js, values[NEEDS], &n);
  for (int i = 0; i < 3; i++) need[i] = 0;
  for (int i = 0; i < n; i++) {
    JSValue v = JS_GetPropertyUint32(js, values[NEEDS], i);
    int at = one_of(v, needs, 3);
    if (at < 0) return refuse_text(JS_UNDEFINED, "plugin.needs has %s; there are \"logprob\", \"hidden_state\" and \"note\"", describe(v));
    need[at] = 1;
    JS_FreeValue(js, v);
  }
  return 0;
}

// read_plugin takes the exported object by way of JSON: what is looked at afterwards is data.
static int read_plugin(JSValueConst exported) {
  JSPropertyEnum *names;
  u32 n;
  Text json;
  if (!JS_IsObject(exported) || JS_IsArray(exported) || JS_IsFunction(js, exported))
    return refuse_text(exported, "plugin is %s; it must be an object such as {candidates: 40, hold: 8}", describe(exported));
  if (!read_json(exported, "plugin", &json)) return refuse();
  plugin = JS_ParseJSON(js, json.bytes, json.n, "plugin");
  JS_FreeCString(js, json.bytes);
  if (JS_IsException(plugin)) return refuse();
  if (!JS_IsObject(plugin) || JS_GetOwnPropertyNames(js, &names, &n, plugin, JS_GPN_STRING_MASK)) return refuse_text(exported, "plugin is no object");
  for (u32 i = 0; i < n; i++) {
    const char *name = JS_AtomToCString(js, names[i].atom), *near;
    int known = 0;
    for (int f = 0; f < COUNT(fields); f++) known |= !strcmp(name, fields[f]);
    if (known) { JS_FreeCString(js, name); continue; }
    near = nearest(name, fields, COUNT(fields), 3);
    return near ? refuse_text(JS_UNDEFINED, "plugin.%.40s is unknown; did you mean %s?", name, near)
                : refuse_text(JS_UNDEFINED, "plugin.%.40s is unknown; there are candidates, hold, takeBack, branches, view, place, summary, config and needs", name);
  }
  JS_FreePropertyEnum(js, names, n);
  for (int f = 0; f < COUNT(fields); f++) {
    JSAtom atom = JS_NewAtom(js, fields[f]); // own ones: the script may have given all objects some
    JSPropertyDescriptor d;
    if (JS_GetOwnProperty(js, &d, plugin, atom) > 0) values[f] = d.value;
    JS_FreeAtom(js, atom);
  }
  for (int f = 0; f <= BRANCHES; f++) if (check_number(f)) return 1;
  if (!JS_IsUndefined(values[VIEW]) && one_of(values[VIEW], views, 3) < 0)
    return refuse_text(JS_UNDEFINED, "plugin.view is %s; it must be \"candidates\", \"logits\" or \"none\"", describe(values[VIEW]));
  if (!JS_IsUndefined(values[PLACE]) && one_of(values[PLACE], places, 2) < 0)
    return refuse_text(JS_UNDEFINED, "plugin.place is %s; it must be \"first\" or \"last\"", describe(values[PLACE]));
  if (!JS_IsUndefined(values[SUMMARY]) && !JS_IsString(values[SUMMARY]))
    return refuse_text(JS_UNDEFINED, "plugin.summary is %s; it must be a text", describe(values[SUMMARY]));
  if (!JS_IsUndefined(values[CONFIG]) && !JS_IsBool(values[CONFIG]) && (!JS_IsObject(values[CONFIG]) || JS_IsArray(values[CONFIG])))
    return refuse_text(JS_UNDEFINED, "plugin.config is %s; it must be a JSON schema of penstock.config", describe(values[CONFIG]));
  return read_needs();
}

// # What is exported

static void blame_at(const char *place) {
  int line = 1, column = 1;
  for (const char *c = source.bytes; c < place; c++)
    if (*c == '\n') line++, column = 1;
    else column++; // bytes, as the engine counts them
  blame(line, column);
}

// blame_export has what is wrong with an export be where its name first follows the word export, or
// at the beginning.
static void blame_export(const char *name) {
  size_t n = strlen(name);
  blame(1, 1);
  for (const char *at = source.bytes; (at = strstr(at, "export")); at++) {
    const char *word = at + strlen("export");
    while (*word && !is_of_name(*word) && *word != ';') word++;
    for (const char *const *kind = kinds; *kind; kind++)
      if (!strncmp(word, *kind, strlen(*kind)) && word[strlen(*kind)] == ' ') word += strlen(*kind) + 1;
    if (strncmp(word, name, n) || is_of_name(word[n])) continue;
    blame_at(word);
    return;
  }
}

void blame_import(const char *name) {
  for (const char *at = source.bytes; at && (at = strstr(at, name)); at++)
    if (at > source.bytes && (at[-1] == '"' || at[-1] == '\'')) { blame_at(at); return; }
}

static int is_generator(JSValueConst function) {
  JSAtom class = JS_GetClassName(runtime, JS_GetClassID(function));
  const char *name = JS_AtomToCString(js, class);
  int is = name && strstr(name, "Generator");
  JS_FreeCString(js, name);
  JS_FreeAtom(js, class);
  return is;
}

// check_hook refuses what is no plain function.
static int check_hook(int i, JSValueConst v) {
  const char *name = hook_names[i];
  if (!JS_IsFunction(js, v)) return refuse_text(JS_UNDEFINED, "%s is %s; it must be a function: export function %s(…) {…}", name, describe(v), name);
  if (JS_IsAsyncFunction(v)) return refuse_text(v, "%s is async: hooks are plain functions, and nothing here has to be awaited; remove async", name);
  if (is_generator(v)) return refuse_text(v, "%s is a generator: hooks are plain functions; remove the *", name);
  return 0;
}

#define MAY_EXPORT "a script exports functions: sample, prepare, accept, stop, filter, draft, messages, template, or run alone"

static int read_exports(JSModuleDef *module, int tolerant) {
  JSValue namespace = JS_GetModuleNamespace(js, module);
  JSPropertyEnum *names;
  u32 n;
  int found = 0;
  if (JS_IsException(namespace) || JS_GetOwnPropertyNames(js, &names, &n, namespace, JS_GPN_STRING_MASK)) return refuse();
  for (u32 i = 0; i < n; i++) {
    const char *name = JS_AtomToCString(js, names[i].atom), *near;
    JSValue v = JS_GetProperty(js, namespace, names[i].atom);
    int hook = 0;
    if (JS_IsException(v)) { // it was not reached before an error
      if (!tolerant) return refuse();
      JS_FreeValue(js, JS_GetException(js));
      continue;
    }
    blame_export(name);
    while (hook < HOOKS && strcmp(name, hook_names[hook])) hook++;
    if (hook < HOOKS) {
      if (check_hook(hook, v)) return 1;
      hooks[hook] = JS_DupValue(js, v);
      found++;
    } else if (!strcmp(name, "plugin")) {
      if (read_plugin(v)) return 1;
    } else if (!strcmp(name, "default")) {
      return refuse_text(v, "export default is not looked at; %s", MAY_EXPORT);
    } else if ((near = nearest(name, hook_names, HOOKS, 2))) {
      return refuse_text(v, "nothing calls the export %.40s; did you mean %s?", name, near);
    } else if (distance(name, "plugin") <= 2) {
      return refuse_text(v, "nothing reads the export %.40s; did you mean plugin?", name);
    }
    JS_FreeCString(js, name);
    JS_FreeValue(js, v);
  }
  JS_FreePropertyEnum(js, names, n);
  blame_export("plugin");
  if (!found && !tolerant) return refuse_text(JS_UNDEFINED, "the script exports nothing that is called; %s", MAY_EXPORT);
  return 0;
}

int has(int hook) { return !JS_IsUndefined(hooks[hook]); }

static int check_together(void) {
  static const int others[] = {SAMPLE, PREPARE, ACCEPT, STOP, FILTER, DRAFT, TEMPLATE};
  for (int i = 0; i < COUNT(others) && has(RUN); i++)
    if (has(others[i]))
      return refuse_text(hooks[RUN], "the script exports run and %s: a script with run is a program, which writes the whole answer, and is called for no token; leave one out", hook_names[others[i]]);
  if (has(FILTER) && !host_has("penstock_filter"))
    return refuse_text(hooks[FILTER], "this host does not let plugins change what is shown, and so runs no script with filter");
  if (!JS_IsUndefined(values[BRANCHES]) && !has(RUN))
    return refuse_text(JS_UNDEFINED, "plugin.branches is for a script that exports run, and this one does not");
  if (is_text(values[VIEW], "logits") && is_text(values[PLACE], "last"))
    return refuse_text(JS_UNDEFINED, "plugin.place is \"last\", and plugin.view \"logits\": what sees all logits comes before the samplers that drop some");
  return 0;
}

// # Evaluation

// mentions reports whether the source has a word, so that what costs the host something is only
// asked for by scripts that may use it.
static int mentions(const char *word) {
  size_t n = strlen(word);
  for (const char *at = source.bytes; (at = strstr(at, word)); at += n)
    if ((at == source.bytes || !is_of_name(at[-1])) && !is_of_name(at[n])) return 1;
  return 0;
}

// read_config reads the source; what else the configuration has is penstock.config.
static int read_config(int *tolerant) {
  JSValue config, text, rest, d, global;
  config = read_scratch(READ(host_config(ptr, limit)), "config");
  if (JS_IsException(config)) return refuse();
  text = JS_GetPropertyStr(js, config, "source");
  rest = JS_GetPropertyStr(js, config, "config");
  d = JS_GetPropertyStr(js, config, "describe");
  JS_FreeValue(js, config);
  *tolerant = JS_ToBool(js, d);
  if (!JS_IsString(text)) return refuse_text(JS_UNDEFINED, "config.source is %s; it must be the script, a text", describe(text));
  if (!read_text(text, "config.source", &source)) return refuse();
  JS_FreeValue(js, text);
  if (JS_IsUndefined(rest)) rest = JS_NewObject(js);
  global = JS_GetGlobalObject(js);
  JS_DefinePropertyValueStr(js, penstock, "config", JS_DupValue(js, rest), JS_PROP_ENUMERABLE);
  set(global, "config", rest);
  JS_FreeValue(js, global);
  return 0;
}

static int finish(JSValueConst promise, int tolerant) {
  JSPromiseStateEnum state = JS_PromiseState(js, promise);
  if (state == JS_PROMISE_REJECTED && tolerant && !is_out_of_time()) {
    JS_ResetThrowSite(runtime);
    return 0;
  }
  if (state == JS_PROMISE_REJECTED) {
    JS_Throw(js, JS_PromiseResult(js, promise));
    return refuse();
  }
  if (state == JS_PROMISE_PENDING || JS_IsJobPending(runtime))
    return refuse_text(JS_UNDEFINED, "the script awaits a Promise or leaves one behind: nothing runs here between two hooks, and nothing has to be awaited; use plain functions");
  return 0;
}

int evaluate(void) {
  int tolerant;
  JSValue module, result;
  JSModuleDef *definition;
  if (evaluated) return 0;
  call_begin(0);
  blame(1, 1);
  for (int i = 0; i < HOOKS; i++) hooks[i] = JS_UNDEFINED;
  for (int i = 0; i < COUNT(fields); i++) values[i] = JS_UNDEFINED;
  for (int i = 0; i < 3; i++) need[i] = -1;
  plugin = JS_UNDEFINED;
  numbers[CANDIDATES] = 40;
  if (read_config(&tolerant)) return 1;
  module = JS_Eval(js, source.bytes, source.n, SCRIPT_FILE, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
  if (JS_IsException(module)) return refuse();
  may_logprob = mentions("logprob");
  may_state = mentions("hiddenState");
  may_note = mentions("note");
  definition = JS_VALUE_GET_PTR(module);
  result = JS_EvalFunction(js, module);
  if (JS_IsException(result)) return refuse();
  blame(1, 1);
  if (finish(result, tolerant) || read_exports(definition, tolerant) || check_together()) return 1;
  JS_FreeValue(js, result);
  JS_FreeCString(js, source.bytes);
  source.bytes = NULL;
  if (need[0] >= 0) may_logprob = need[0], may_state = need[1], may_note = need[2];
  hold = numbers[HOLD];
  candidates_cap = numbers[CANDIDATES];
  logits_view = has(SAMPLE) && is_text(values[VIEW], "logits");
  if (!sampling_start()) return refuse_text(JS_UNDEFINED, "the script's buffers do not fit into the memory of an instance");
  evaluated = 1;
  return 0;
}

// # The plan

static void append(JSValueConst list, JSValue v) {
  int64_t n;
  JS_GetLength(js, list, &n);
  JS_DefinePropertyValueUint32(js, list, n, v, JS_PROP_C_W_E);
}

void emit_plan(void) {
  JSValue plan = JS_NewObjectProto(js, JS_NULL), list = JS_NewArray(js), wants = JS_NewArray(js);
  Text json;
  char name[32];
  JS_SetPrototype(js, list, JS_NULL); // a toJSON that the script gave all lists is not asked
  JS_SetPrototype(js, wants, JS_NULL);
  append(list, JS_NewString(js, "penstock_open"));
  for (int i = 0; i < HOOKS; i++)
    if (has(i)) {
      snprintf(name, sizeof name, "penstock_%s", hook_names[i]);
      append(list, JS_NewString(js, name));
    }
  set(plan, "implements", list);
  if (may_logprob) append(wants, JS_NewString(js, needs[0]));
  if (may_state) append(wants, JS_NewString(js, needs[1]));
  if (may_note) append(wants, JS_NewString(js, needs[2]));
  set(plan, "needs", wants);
  set(plan, "view", JS_NewString(js, !has(SAMPLE) ? "none" : logits_view ? "logits" : is_text(values[VIEW], "none") ? "none" : "candidates"));
  if (has(SAMPLE)) set(plan, "candidates", JS_NewInt32(js, candidates_cap));
  set(plan, "hold", JS_NewInt32(js, has(ACCEPT) ? hold : 0));
  set(plan, "take_back", JS_NewInt32(js, numbers[TAKE_BACK]));
  // First: after the samplers of most requests one candidate is left.
  if (!JS_IsUndefined(values[PLACE])) set(plan, "place", JS_DupValue(js, values[PLACE]));
  else if (has(SAMPLE)) set(plan, "place", JS_NewString(js, places[0]));
  if (has(RUN)) set(plan, "branches", JS_NewInt32(js, JS_IsUndefined(values[BRANCHES]) ? 1 : numbers[BRANCHES]));
  if (!JS_IsUndefined(values[SUMMARY])) set(plan, "summary", JS_DupValue(js, values[SUMMARY]));
  if (!JS_IsUndefined(values[CONFIG])) set(plan, "config_schema", JS_DupValue(js, values[CONFIG]));
  if (!read_json(plan, "the plan", &json)) stop_call();
  JS_FreeValue(js, plan);
  host_emit(json.bytes, json.n);
  JS_FreeCString(js, json.bytes);
}
