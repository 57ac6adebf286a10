// SPDX-License-Identifier: MIT
// Tokens and their texts. All pieces lie in memory as the host gives them, and become texts of
// JavaScript when a script looks at one. Texts made once for all would save 0.1 µs each, but an
// instance that touched one would have a page of its own for it, and 128,256 of them take 6 MB.
#include "libregexp.h"
#include "script.h"

int vocabulary, mask_size;
static u32 *offsets; // of each piece, from the end of the offsets on
static const char *pieces;
static uint8_t *attributes;

const char *piece(u32 token, int *bytes) {
  if (token >= (u32)vocabulary) { *bytes = 0; return pieces; } // what is RESERVED in a history
  *bytes = offsets[token + 1] - offsets[token];
  return pieces + offsets[token];
}

// The texts that were looked at last: a script asks for those of the likely tokens again and again.
static struct { u32 token; JSValue text; } recent[256];

JSValue piece_text(u32 token) {
  int at = token % COUNT(recent), n;
  if (recent[at].token != token || JS_IsUndefined(recent[at].text)) {
    const char *bytes = piece(token, &n);
    JSValue text = JS_NewStringLen(js, bytes, n);
    if (JS_IsException(text)) return text;
    JS_FreeValue(js, recent[at].text);
    recent[at].token = token;
    recent[at].text = text;
  }
  return JS_DupValue(js, recent[at].text);
}

// # Regular expressions over pieces
//
// The engine's matcher is called on the piece's bytes, without the text, the result array and the
// lastIndex that RegExp.exec has. Pieces of ASCII are matched as they are, others as UTF-16.

// utf16 decodes n bytes, with U+FFFD for those that are no character.
static int utf16(const uint8_t *s, int n, uint16_t *to) {
  int k = 0;
  for (int i = 0; i < n;) {
    u32 c = s[i];
    int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1, ok = more >= 0;
    u32 x = more <= 0 ? c : c & (0x3f >> more);
    for (int j = 1; ok && j <= more; j++) {
      ok = i + j < n && (s[i + j] & 0xc0) == 0x80;
      if (ok) x = x << 6 | (s[i + j] & 0x3f);
    }
    if (ok && ((more == 2 && (x < 0x800 || (x >= 0xd800 && x < 0xe000))) || (more == 3 && (x < 0x10000 || x > 0x10ffff)))) ok = 0;
    i += ok ? more + 1 : 1;
    if (!ok) x = 0xfffd;
    if (x >= 0x10000) { to[k++] = 0xd7c0 + (x >> 10); x = 0xdc00 | (x & 0x3ff); }
    to[k++] = x;
  }
  return k;
}

int piece_matches(JSValueConst regexp, u32 token) {
  static uint8_t *captures[2 * 255 + 255]; // as many as a pattern may have, with its registers
  static uint16_t wide[1024];
  const uint8_t *code = JS_GetRegExpBytecode(regexp);
  int n, ascii = 1, found;
  const char *bytes = piece(token, &n);
  if (n > COUNT(wide)) n = COUNT(wide); // no vocabulary has such
  for (int i = 0; i < n; i++) ascii &= (uint8_t)bytes[i] < 0x80;
  if (ascii) found = lre_exec(captures, code, (const uint8_t *)bytes, 0, n, 0, js);
  else found = lre_exec(captures, code, (uint8_t *)wide, 0, utf16((const uint8_t *)bytes, n, wide), 1, js);
  if (found >= 0) return found == 1;
  if (found == LRE_RET_MEMORY_ERROR) JS_ThrowOutOfMemory(js);
  else throw_interrupted();
  return -1;
}

// # Masks

static void allow(u32 *words, u32 token) { words[token >> 5] |= 1u << (token & 31); }

// mask(what): a Uint32Array with a bit for each token: those whose text a RegExp matches, those for
// which a function returns true, or those of a list. Control tokens have no text that anybody
// reads, so of them a RegExp allows those that end the answer: else one in digits would never end.
static FUNCTION(mask) {
  int is_function = JS_IsFunction(c, argv[0]);
  Tokens list;
  JSValue result = JS_EXCEPTION;
  u32 *words = js_mallocz(c, 4 * mask_size);
  if (!words) return JS_EXCEPTION;
  if (JS_IsRegExp(argv[0])) {
    for (int t = 0; t < vocabulary; t++) {
      int yes = attributes[t] & (ATTR_CONTROL | ATTR_END) ? attributes[t] & ATTR_END : piece_matches(argv[0], t);
      if (yes > 0) allow(words, t);
      if (t % 256 == 255 && yes >= 0 && is_out_of_time()) { throw_interrupted(); yes = -1; }
      if (yes < 0) goto out;
    }
  } else if (is_function) {
    for (int t = 0; t < vocabulary; t++) {
      int n;
      const char *bytes = piece(t, &n);
      JSValue args[2] = {JS_NewStringLen(c, bytes, n), JS_NewInt32(c, t)};
      if (JS_IsException(args[0])) goto out;
      JSValue yes = JS_Call(c, argv[0], JS_UNDEFINED, 2, args);
      JS_FreeValue(c, args[0]);
      if (JS_IsException(yes)) goto out;
      if (JS_ToBool(c, yes)) allow(words, t); // of no value this runs code
      JS_FreeValue(c, yes);
    }
  } else if (!JS_IsObject(argv[0])) {
    throw_type("the mask is of %s; it must be of a RegExp, a function, or a list of tokens such as penstock.tokenize gives", JS_IsString(argv[0]) ? "a text" : describe(argv[0]));
    goto out;
  } else {
    if (!read_tokens(argv[0], "the mask", vocabulary, &list)) goto out;
    for (int i = 0; i < list.n; i++) allow(words, list.token[i]);
    js_free(c, list.token);
  }
  result = new_array(words, mask_size, JS_TYPED_ARRAY_UINT32);
out:
  js_free(c, words);
  return result;
}

// # Functions

#define MOST_TEXT 65536 // the host's bound

int tokenize(Text text, int flags, Tokens *result) {
  int room = 256, n;
  if (text.n > MOST_TEXT) { throw_range("the text has %zu bytes; a text that becomes tokens has at most %d", text.n, MOST_TEXT); return 0; }
  for (;;) {
    u32 *token = js_malloc(js, 4 * room);
    if (!token) return 0;
    n = host_tokenize(text.bytes, text.n, flags, token, room);
    if (n >= 0 && n <= room) { *result = (Tokens){token, n}; return 1; }
    js_free(js, token);
    if (n < 0) { throw_range("the host refused the text"); return 0; }
    room = n;
  }
}

static FUNCTION(tokenize_text) {
  Text text;
  Tokens tokens;
  JSValue list = JS_EXCEPTION;
  int special;
  if (!read_flag(argv[1], "special", &special) || !read_text(argv[0], "the text", &text)) return JS_EXCEPTION;
  if (tokenize(text, special ? 2 : 0, &tokens)) {
    list = new_tokens(tokens.token, tokens.n);
    js_free(c, tokens.token);
  }
  JS_FreeCString(c, text.bytes);
  return list;
}

JSValue detokenize(Tokens tokens) {
  size_t bytes = 0, at = 0;
  int n;
  for (int i = 0; i < tokens.n; i++) { piece(tokens.token[i], &n); bytes += n; }
  char *all = js_malloc(js, bytes + 1);
  if (!all) return JS_EXCEPTION;
  for (int i = 0; i < tokens.n; i++) {
    const char *p = piece(tokens.token[i], &n);
    memcpy(all + at, p, n);
    at += n;
  }
  JSValue text = JS_NewStringLen(js, all, bytes);
  js_free(js, all);
  return text;
}

static FUNCTION(detokenize_list) {
  Tokens tokens;
  if (!read_history(argv[0], "the list", 1 << 20, &tokens)) return JS_EXCEPTION;
  JSValue text = detokenize(tokens);
  js_free(c, tokens.token);
  return text;
}

static FUNCTION(piece_of) {
  u32 token;
  return read_token(argv[0], "the token", &token) ? piece_text(token) : JS_EXCEPTION;
}

static FUNCTION(bytes_of) {
  u32 token;
  int n;
  if (!read_token(argv[0], "the token", &token)) return JS_EXCEPTION;
  const char *bytes = piece(token, &n);
  return JS_NewUint8ArrayCopy(c, (const uint8_t *)bytes, n);
}

static JSValue has_attribute(JSValueConst v, int bit) {
  u32 token;
  return read_token(v, "the token", &token) ? JS_NewBool(js, attributes[token] & bit) : JS_EXCEPTION;
}
static FUNCTION(is_end) { return has_attribute(argv[0], ATTR_END); }
static FUNCTION(is_control) { return has_attribute(argv[0], ATTR_CONTROL); }

static const JSCFunctionListEntry functions[] = {
  METHOD("piece", 1, piece_of), METHOD("bytes", 1, bytes_of), METHOD("tokenize", 2, tokenize_text), METHOD("detokenize", 1, detokenize_list),
  METHOD("isEnd", 1, is_end), METHOD("isControl", 1, is_control), METHOD("mask", 1, mask),
};

void vocabulary_start(JSValue penstock) {
  static const char *const specials[] = {"bos", "eos", "eot", "newline"};
  int n = host_vocab(NULL, 0);
  vocabulary = host_vocab_size();
  mask_size = (vocabulary + 31) / 32;
  offsets = reserve(n);
  attributes = reserve(vocabulary + 1);
  if (!offsets || !attributes) {
    static const char much[] = "the model's vocabulary does not fit into the memory of an instance of script";
    host_fail(much, sizeof much - 1);
    __builtin_trap();
  }
  host_vocab(offsets, n);
  pieces = (const char *)(offsets + vocabulary + 1);
  for (int t = 0; t < vocabulary; t++) attributes[t] = host_token_attr(t);
  for (int i = 0; i < COUNT(recent); i++) recent[i].text = JS_UNDEFINED;
  JS_SetPropertyFunctionList(js, penstock, functions, COUNT(functions));
  JS_DefinePropertyValueStr(js, penstock, "vocabSize", JS_NewInt32(js, vocabulary), JS_PROP_ENUMERABLE);
  for (int i = 0; i < COUNT(specials); i++) {
    int token = host_special(i);
    JS_DefinePropertyValueStr(js, penstock, specials[i], token < 0 ? JS_NULL : JS_NewInt32(js, token), JS_PROP_ENUMERABLE);
  }
}
