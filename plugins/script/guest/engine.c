// SPDX-License-Identifier: MIT
// The engine: one runtime with a memory of its own size, the time that a call has, and what an
// exception says.
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/time.h>
#include "script.h"

JSRuntime *runtime;
JSContext *js;
static int out_of_memory, out_of_time;

int host_has(const char *feature) { return host_feature(feature, strlen(feature)); }

// # Memory
//
// The engine gets what the stack, the data, the vocabulary and the buffers leave of the module's
// maximum (build.sh), less some for the error that says that it was too little.
#define MEMORY (16 << 20)
#define RESERVE (512 << 10)
size_t malloc_usable_size(void *); // of wasi-libc, which declares it nowhere
static size_t usable(const void *p) { return malloc_usable_size((void *)p); }
static size_t used, most;

extern char __heap_base; // the linker's: where the stack and the data end

void *reserve(size_t bytes) {
  void *p = bytes <= most ? calloc(1, bytes) : NULL;
  if (p) most -= bytes + 16;
  return p;
}

// worked is told of the bytes that a built-in function is about to make, which take it some time:
// of each but the smallest at least what is charged here. Too large ones are not begun, and after
// some the handler of interrupts is asked, which else is only for loops and calls of the script.
static int worked(size_t n);

static void *allocate(void *unused, size_t n) {
  void *p = (uint64_t)used + n <= most && worked(n) ? malloc(n) : NULL;
  if (p) used += usable(p) + 8;
  else if (n) out_of_memory = 1;
  return p;
}
static void *allocate_zeroed(void *unused, size_t count, size_t size) {
  void *p;
  if (size && count > most / size) { out_of_memory = 1; return NULL; }
  p = allocate(unused, count * size);
  return p ? memset(p, 0, count * size) : NULL;
}
static void release(void *unused, void *p) {
  if (p) used -= usable(p) + 8;
  free(p);
}
static void *reallocate(void *unused, void *p, size_t n) {
  size_t before = p ? usable(p) + 8 : 0;
  void *q;
  if (!p) return allocate(unused, n);
  if (!n) { release(unused, p); return NULL; }
  q = n <= before || ((uint64_t)used - before + n <= most && worked(n)) ? realloc(p, n) : NULL;
  if (q) used += usable(q) + 8 - before;
  else out_of_memory = 1;
  return q;
}
static const JSMallocFunctions memory = {allocate_zeroed, allocate, release, reallocate, usable};

char *scratch;
int scratch_size;
int scratch_room(int bytes) {
  if (bytes > scratch_size) {
    char *larger = (uint64_t)used + bytes - scratch_size < most ? realloc(scratch, bytes) : NULL;
    if (!larger) { out_of_memory = 1; JS_ThrowOutOfMemory(js); return 0; }
    most -= bytes - scratch_size;
    scratch = larger;
    scratch_size = bytes;
  }
  return 1;
}

// # Time
//
// The engine asks here every few hundred loops and calls. A tenth of a call's fuel is left for the
// error, whose text runs no code of the script. Where the host does not tell what is left, its own
// bound ends the call, without a line.
static int64_t least_fuel;
static int has_fuel, traps;

// tell_place has the host know where the script is, should the host's clock end the call: the code
// outside of functions has more fuel than time.
static void tell_place(void) {
  char text[96];
  int column, line = JS_GetLine(js, &column);
  if (line) host_fail(text, snprintf(text, sizeof text, "the script used up its time (" SCRIPT_FILE ":%d:%d)", line, column));
}

static int interrupt(JSRuntime *unused, void *unused_too) {
  int64_t left;
  if (!traps && js) tell_place();
  if (!has_fuel) return 0;
  left = host_fuel();
  if (!least_fuel) least_fuel = left / 10;
  return out_of_time = out_of_time || left < least_fuel;
}
static int worked(size_t n) {
  static size_t since;
  since += n;
  if (since < 16 << 10 || !js) return 1;
  since = 0;
  JS_PollSoon(js);
  if (n < 256 << 10) return 1;
  interrupt(runtime, NULL);
  if (has_fuel && host_fuel() - least_fuel < 4 * (int64_t)n) out_of_time = 1;
  return !out_of_time;
}

int is_out_of_time(void) { return interrupt(runtime, NULL); }

void throw_interrupted(void) {
  JSValue e;
  JS_ThrowInternalError(js, "interrupted");
  e = JS_GetException(js);
  JS_SetUncatchableError(js, e);
  JS_Throw(js, e);
}

// Date has the request's time, and no other clock exists.
int gettimeofday(struct timeval *restrict now, void *restrict unused) {
  int64_t ms = js ? host_param(PARAM_TIME) : 0;
  if (ms < 0) ms = 0;
  now->tv_sec = ms / 1000;
  now->tv_usec = ms % 1000 * 1000;
  return 0;
}

static int blamed_line, blamed_column;

void blame(int line, int column) { blamed_line = line, blamed_column = column; }
void blame_function(JSValueConst function) { blamed_line = JS_GetFunctionLine(js, function, &blamed_column); }

void call_begin(int may_trap) {
  traps = may_trap;
  out_of_memory = out_of_time = 0;
  least_fuel = 0;
  JS_ResetThrowSite(runtime);
}

// What the script has made is not freed then: that alone can take longer than what is left.
static void end_call(void) {
  if (traps) stop_call();
}

// # Errors
//
// What is said of an exception is read without running any code of the script: own properties that
// are no getters, along a chain of prototypes without proxies.
#define MESSAGE 1000 // bytes of an error's message that are shown

// bounded is how many of n bytes of UTF-8 fit into room, in whole characters.
static size_t bounded(const char *bytes, size_t n, size_t room) {
  if (n <= room) return n;
  while (room > 0 && (bytes[room] & 0xc0) == 0x80) room--;
  return room;
}

// property copies a text that an object or one of its prototypes has; -1: none.
static int property(JSValueConst object, const char *name, char *to, int room) {
  JSAtom atom = JS_NewAtom(js, name);
  JSValue at = JS_DupValue(js, object);
  int n = -1;
  for (int depth = 0; depth < 20 && n < 0 && JS_IsObject(at) && !JS_IsProxy(at); depth++) {
    JSPropertyDescriptor d;
    int has = JS_GetOwnProperty(js, &d, at, atom);
    if (has < 0) { JS_FreeValue(js, JS_GetException(js)); break; }
    if (has) {
      if (!(d.flags & JS_PROP_GETSET) && JS_IsString(d.value)) {
        size_t length;
        const char *text = JS_ToCStringLen(js, &length, d.value);
        if (text) {
          n = bounded(text, length, room);
          memcpy(to, text, n);
          JS_FreeCString(js, text);
        } else JS_FreeValue(js, JS_GetException(js));
      }
      JS_FreeValue(js, d.value);
      JS_FreeValue(js, d.getter);
      JS_FreeValue(js, d.setter);
      break;
    }
    JSValue up = JS_GetPrototype(js, at);
    JS_FreeValue(js, at);
    at = up;
  }
  JS_FreeValue(js, at);
  JS_FreeAtom(js, atom);
  return n;
}

const char *describe(JSValueConst v) {
  static char text[128];
  int n;
  if (JS_IsUndefined(v)) return "undefined";
  if (JS_IsNull(v)) return "null";
  if (JS_IsBool(v)) return JS_VALUE_GET_BOOL(v) ? "true" : "false";
  if (JS_IsSymbol(v)) return "a symbol";
  if (JS_IsBigInt(v)) return "a BigInt";
  if (JS_IsPromise(v)) return "a Promise";
  if (JS_IsFunction(js, v)) return "a function";
  if (JS_IsArray(v)) return "an array";
  if (JS_IsObject(v)) {
    JSAtom name = JS_GetClassName(runtime, JS_GetClassID(v));
    const char *class = JS_AtomToCString(js, name);
    snprintf(text, sizeof text, "%s%s object", class && strchr("AEIO", class[0]) ? "an " : "a ", class && strcmp(class, "Object") ? class : "plain");
    if (class && !strcmp(class, "Object")) strcpy(text, "an object");
    JS_FreeCString(js, class);
    JS_FreeAtom(js, name);
    return text;
  }
  { // a number or a text, whose conversion runs no code
    size_t length;
    const char *s = JS_ToCStringLen(js, &length, v);
    if (!s) { JS_FreeValue(js, JS_GetException(js)); return "a value"; }
    n = bounded(s, length, 60);
    snprintf(text, sizeof text, JS_IsString(v) ? "\"%.*s%s\"" : "%.*s%s", n, s, n < (int)length ? "…" : "");
    JS_FreeCString(js, s);
  }
  return text;
}

// says writes what an exception says: name and message.
static int says(JSValueConst e, char *to, int room) {
  char name[64], message[MESSAGE + 1];
  int n, m;
  if (out_of_time) return snprintf(to, room, "the script used up its time");
  if (out_of_memory && !JS_IsObject(e)) return snprintf(to, room, "InternalError: out of memory");
  if (!JS_IsObject(e)) return snprintf(to, room, "%s was thrown", describe(e));
  n = property(e, "name", name, sizeof name);
  m = property(e, "message", message, MESSAGE);
  if (n < 0 && m < 0) return snprintf(to, room, "%s was thrown", describe(e));
  if (n < 0) n = snprintf(name, sizeof name, JS_IsError(e) ? "Error" : "an object was thrown");
  return m > 0 ? snprintf(to, room, "%.*s: %.*s", n, name, m, message) : snprintf(to, room, "%.*s", n, name);
}

static int place(char *to, int room, int line, int column) {
  if (line <= 0) line = blamed_line, column = blamed_column;
  return line > 0 ? snprintf(to, room, " (" SCRIPT_FILE ":%d:%d)", line, column) : 0;
}

static void tell(const char *text, int n) {
  host_fail(text, n);
  if (!host_has("fail_trap")) host_log(3, text, n); // such a host says of a trap only where it was
}

// refuse may use the reserve, since the instance is not called again.
int refuse(void) {
  char text[MESSAGE + 256];
  int column, line = JS_GetThrowSite(runtime, &column);
  JSValue e = JS_GetException(js);
  most += RESERVE;
  int n = says(e, text, sizeof text - 64);
  if (n > (int)sizeof text - 64) n = sizeof text - 64;
  n += place(text + n, 64, line, column);
  tell(text, n);
  JS_FreeValue(js, e);
  return 1;
}

void stop_call(void) {
  refuse();
  __builtin_trap();
}

int refuse_text(JSValueConst function, const char *format, ...) {
  char text[600];
  va_list args;
  int n, column = 0, line = JS_GetFunctionLine(js, function, &column);
  va_start(args, format);
  n = vsnprintf(text, sizeof text - 64, format, args);
  va_end(args);
  if (n > (int)sizeof text - 65) n = bounded(text, sizeof text - 65, sizeof text - 66);
  n += place(text + n, 64, line, column);
  tell(text, n);
  return 1;
}

#define THROW(name, throw)                      \
  JSValue name(const char *format, ...) {       \
    char text[240];                             \
    va_list args;                               \
    va_start(args, format);                     \
    vsnprintf(text, sizeof text, format, args); \
    va_end(args);                               \
    return throw(js, "%s", text);         \
  }
THROW(throw_type, JS_ThrowTypeError)
THROW(throw_range, JS_ThrowRangeError)

// # Start

static FUNCTION(random_number) { return JS_NewFloat64(c, (double)(host_random() >> 11) * 0x1p-53); }

// load_module is asked for what a script imports.
static JSModuleDef *load_module(JSContext *c, const char *name, void *unused) {
  blame_import(name);
  JS_ThrowSyntaxError(c, "a script is one file and cannot import %.60s", name);
  return NULL;
}
static char *normalize_name(JSContext *c, const char *base, const char *name, void *unused) { return js_strdup(c, name); }

static void take_out(JSValueConst object, const char *name) {
  JSAtom atom = JS_NewAtom(js, name);
  JS_DeleteProperty(js, object, atom, 0);
  JS_FreeAtom(js, atom);
}

// STACK is how much of the stack in memory the engine may use. Its functions' frames there are made
// as large in proportion as what the host counts for them (engine.patch, STACK_COST), so that deep
// recursion is a RangeError long before the host's bound of 8 MiB.
#define STACK (720 << 10)

void engine_start(void) {
  JSValue global, object;
  most = MEMORY - RESERVE - (size_t)&__heap_base;
  scratch_room(4096);
  runtime = JS_NewRuntime2(&memory, NULL);
  JS_SetMaxStackSize(runtime, STACK);
  has_fuel = host_has("fuel");
  JS_SetInterruptHandler(runtime, interrupt, NULL);
  JS_SetUncatchableHandler(runtime, end_call);
  JS_SetModuleLoaderFunc(runtime, normalize_name, load_module, NULL);
  JSContext *c = JS_NewContextRaw(runtime);
  // Without WeakRef and FinalizationRegistry, which show when garbage is collected, and without
  // clocks and what is for web pages.
  if (JS_AddIntrinsicBaseObjects(c) || JS_AddIntrinsicDate(c) || JS_AddIntrinsicEval(c) || JS_AddIntrinsicRegExp(c) || JS_AddIntrinsicJSON(c) ||
      JS_AddIntrinsicProxy(c) || JS_AddIntrinsicMapSet(c) || JS_AddIntrinsicTypedArrays(c) || JS_AddIntrinsicPromise(c)) __builtin_trap();
  js = c;
  JS_SetScriptFile(c, SCRIPT_FILE);
  global = JS_GetGlobalObject(c);
  object = JS_GetPropertyStr(c, global, "Math");
  set(object, "random", JS_NewCFunction(c, random_number, "random", 0));
  JS_FreeValue(c, object);
  object = JS_GetPropertyStr(c, global, "Error");
  take_out(object, "prepareStackTrace"); // it would run code of the script wherever something throws
  JS_FreeValue(c, object);
  take_out(global, "Atomics");
  take_out(global, "SharedArrayBuffer");
  take_out(global, "queueMicrotask");
  JS_FreeValue(c, global);
}
