// SPDX-License-Identifier: MIT
// Reading values of JavaScript: each function returns 1, or 0 with an exception pending that names
// the argument, unless it says otherwise.
#include <math.h>
#include "script.h"

int read_number(JSValueConst v, const char *name, double *result) {
  if (!JS_IsNumber(v)) { throw_type("%s is %s; it must be a number", name, describe(v)); return 0; }
  JS_ToFloat64(js, result, v); // of a number it runs no code
  if (isnan(*result)) { throw_range("%s is NaN; it must be a number", name); return 0; }
  return 1;
}

int read_int(JSValueConst v, const char *name, int least, int most, int *result) {
  double x;
  if (!read_number(v, name, &x)) return 0;
  if (x != floor(x) || x < least || x > most) {
    throw_range("%s is %s; it must be a whole number from %d to %d", name, describe(v), least, most);
    return 0;
  }
  *result = (int)x;
  return 1;
}

int read_token(JSValueConst v, const char *name, u32 *token) {
  double x = -1;
  if (JS_VALUE_GET_TAG(v) == JS_TAG_INT && (u32)JS_VALUE_GET_INT(v) < (u32)vocabulary) { *token = JS_VALUE_GET_INT(v); return 1; }
  if (JS_IsNumber(v)) JS_ToFloat64(js, &x, v); // a whole number may come as a float, too
  if (x >= 0 && x < vocabulary && x == floor(x)) { *token = (u32)x; return 1; }
  if (!JS_IsNumber(v)) throw_type("%s is %s; it must be a token, which is a number from 0 to %d", name, describe(v), vocabulary - 1);
  else throw_range("%s is %s; tokens are whole numbers from 0 to %d", name, describe(v), vocabulary - 1);
  return 0;
}

// elements points to the elements of a typed array, which stay where they are until code of the
// script runs.
static void *elements(JSValueConst array, JSTypedArrayEnum type, int *n) {
  size_t offset, bytes, size, all;
  if (JS_GetTypedArrayType(array) != (int)type) return NULL;
  JSValue buffer = JS_GetTypedArrayBuffer(js, array, &offset, &bytes, &size);
  if (JS_IsException(buffer)) { JS_FreeValue(js, JS_GetException(js)); return NULL; }
  uint8_t *p = JS_GetArrayBuffer(js, &all, buffer);
  JS_FreeValue(js, buffer); // the array keeps it
  if (!p || offset + bytes > all) { if (JS_HasException(js)) JS_FreeValue(js, JS_GetException(js)); return NULL; }
  *n = bytes / size;
  return p + offset;
}

// read_item is read_token for an item of a list.
static int read_item(JSValueConst v, const char *name, int i, int reserved, u32 *token) {
  char item[64];
  double x = 0;
  if (JS_VALUE_GET_TAG(v) == JS_TAG_INT && (u32)JS_VALUE_GET_INT(v) < (u32)vocabulary) { *token = JS_VALUE_GET_INT(v); return 1; }
  if (reserved && JS_IsNumber(v) && !JS_ToFloat64(js, &x, v) && x == RESERVED) { *token = RESERVED; return 1; }
  snprintf(item, sizeof item, "%s[%d]", name, i);
  return read_token(v, item, token);
}

static int read_list(JSValueConst v, const char *name, int most, int reserved, Tokens *result) {
  int64_t length;
  int n;
  u32 *from, one;
  *result = (Tokens){NULL, 0};
  if (JS_IsString(v)) {
    Text text;
    if (!read_text(v, name, &text)) return 0;
    n = tokenize(text, 0, result);
    JS_FreeCString(js, text.bytes);
    if (n && result->n > most) { js_free(js, result->token); throw_range("%s has %d tokens; it may have %d", name, result->n, most); return 0; }
    return n;
  }
  if (JS_IsNumber(v)) {
    if (!read_token(v, name, &one)) return 0;
    from = &one, n = 1;
  } else if (!(from = elements(v, JS_TYPED_ARRAY_UINT32, &n)) && !(from = elements(v, JS_TYPED_ARRAY_INT32, &n))) {
    if (!JS_IsObject(v) || JS_IsFunction(js, v)) {
      throw_type("%s is %s; it must be a token, a list of tokens, or a text", name, describe(v));
      return 0;
    }
    JSValue has = JS_GetPropertyStr(js, v, "length"); // a Set has none, and would be an empty list
    if (JS_IsException(has)) return 0;
    if (!JS_IsNumber(has)) throw_type("%s is %s, which is no list; it must be a token, a list of tokens, or a text", name, describe(v));
    if (!JS_IsNumber(has)) { JS_FreeValue(js, has); return 0; }
    double x;
    JS_ToFloat64(js, &x, has);
    length = x > 0 ? x < INT32_MAX ? (int64_t)x : INT32_MAX : 0;
    if (length > most) { throw_range("%s has %lld tokens; it may have %d", name, (long long)length, most); return 0; }
    n = length;
  }
  if (n > most) { throw_range("%s has %d tokens; it may have %d", name, n, most); return 0; }
  if (!(result->token = js_malloc(js, 4 * n + 4))) return 0;
  result->n = n;
  for (int i = 0; i < n; i++) {
    if (from) {
      if ((result->token[i] = from[i]) < (u32)vocabulary || (reserved && from[i] == RESERVED)) continue;
      throw_range("%s has %u; tokens are whole numbers from 0 to %d", name, from[i], vocabulary - 1);
    } else {
      JSValue x = JS_GetPropertyUint32(js, v, i);
      int ok = !JS_IsException(x) && read_item(x, name, i, reserved, &result->token[i]);
      JS_FreeValue(js, x);
      if (ok) continue;
    }
    js_free(js, result->token);
    return 0;
  }
  return 1;
}

int read_tokens(JSValueConst v, const char *name, int most, Tokens *result) { return read_list(v, name, most, 0, result); }
int read_history(JSValueConst v, const char *name, int most, Tokens *result) { return read_list(v, name, most, 1, result); }

int read_text(JSValueConst v, const char *name, Text *result) {
  if (!JS_IsString(v)) { throw_type("%s is %s; it must be a text", name, describe(v)); return 0; }
  result->bytes = JS_ToCStringLen(js, &result->n, v);
  return result->bytes != NULL;
}

int read_json(JSValueConst v, const char *name, Text *result) {
  JSValue json = JS_JSONStringify(js, v, JS_UNDEFINED, JS_UNDEFINED);
  if (JS_IsException(json)) return 0;
  if (JS_IsUndefined(json)) { throw_type("%s is %s, which JSON cannot say", name, describe(v)); return 0; }
  result->bytes = JS_ToCStringLen(js, &result->n, json);
  JS_FreeValue(js, json);
  return result->bytes != NULL;
}

int read_option(JSValueConst options, const char *name, JSValue *result) {
  *result = JS_UNDEFINED;
  if (JS_IsUndefined(options)) return 1;
  if (!JS_IsObject(options)) { throw_type("the options are %s; they must be an object such as {%s: …}", describe(options), name); return 0; }
  *result = JS_GetPropertyStr(js, options, name);
  return !JS_IsException(*result);
}

int read_flag(JSValueConst options, const char *name, int *result) {
  JSValue v;
  if (!read_option(options, name, &v)) return 0;
  *result = JS_ToBool(js, v); // of no value this runs code
  JS_FreeValue(js, v);
  return 1;
}

int read_from(JSValueConst v, int *result) {
  *result = 0;
  return JS_IsUndefined(v) || read_int(v, "the beginning", -(1 << 30), 1 << 30, result);
}

JSValue read_scratch(int n, const char *name) { return n < 0 ? JS_EXCEPTION : JS_ParseJSON(js, scratch, n, name); }

int read_words(JSValueConst mask, u32 **words) {
  int n;
  *words = elements(mask, JS_TYPED_ARRAY_UINT32, &n);
  return *words && n == mask_size;
}

int read_floats(JSValueConst v, const char *name, int n, double **result) {
  int64_t length;
  char item[64];
  if (!JS_IsObject(v)) { throw_type("%s is %s; it must be a list of %d numbers", name, describe(v), n); return 0; }
  if (JS_GetLength(js, v, &length)) return 0;
  if (length != n) { throw_range("%s has %lld numbers; there are %d candidates", name, (long long)length, n); return 0; }
  double *list = js_malloc(js, sizeof(double) * (n + 1));
  if (!list) return 0;
  for (int i = 0; i < n; i++) {
    JSValue x = JS_GetPropertyUint32(js, v, i);
    snprintf(item, sizeof item, "%s[%d]", name, i);
    int ok = !JS_IsException(x) && read_number(x, item, &list[i]);
    JS_FreeValue(js, x);
    if (!ok) { js_free(js, list); return 0; }
  }
  *result = list;
  return 1;
}

JSValue new_tokens(const u32 *token, int n) {
  JSValue list = JS_NewArray(js);
  for (int i = 0; i < n && !JS_IsException(list); i++)
    if (JS_DefinePropertyValueUint32(js, list, i, JS_NewUint32(js, token[i]), JS_PROP_C_W_E) < 0) {
      JS_FreeValue(js, list);
      return JS_EXCEPTION;
    }
  return list;
}

static JSValue typed_array(JSValue buffer, JSTypedArrayEnum type) {
  JSValue args[3] = {buffer, JS_UNDEFINED, JS_UNDEFINED}, array;
  if (JS_IsException(buffer)) return buffer;
  array = JS_NewTypedArray(js, 3, args, type);
  JS_FreeValue(js, buffer);
  return array;
}

JSValue new_array(const void *items, int n, JSTypedArrayEnum type) { return typed_array(JS_NewArrayBufferCopy(js, items, 4 * n), type); }

// new_view is a typed array on memory of the guest's own, which stays for the instance's life.
JSValue new_view(void *items, int n, JSTypedArrayEnum type) {
  return typed_array(JS_NewArrayBuffer(js, items, 4 * n, 0, NULL, NULL, false), type);
}

void set(JSValueConst object, const char *name, JSValue v) { JS_DefinePropertyValueStr(js, object, name, v, JS_PROP_C_W_E); }
