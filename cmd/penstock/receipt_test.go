// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// TestReceipt checks a receipt as whoever is shown one does, and then with one bit changed in all
// that it is of.
func TestReceipt(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) string {
		t.Helper()
		must.Do(t, cmp.Or(os.MkdirAll(filepath.Dir(path(name)), 0o700), os.WriteFile(path(name), data, 0o600)))
		return path(name)
	}
	made := penstock(t, "", "receipt", "key", path("key.pem"))
	if info, err := os.Stat(path("key.pem")); made.code != exitDone || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(made, err)
	}
	if again := penstock(t, "", "receipt", "key", path("key.pem")); again.code != exitFailed || !strings.Contains(again.err, "exists") {
		t.Errorf("a key is written over another: %+v", again)
	}
	if none := penstock(t, "", "serve", "--listen", "127.0.0.1:0", "--receipt-key-file", path("none")); none.code != exitFailed || !strings.Contains(none.err, "receipts.key_file") {
		t.Errorf("a server without its key: %+v", none)
	}
	watching := func(hold string) []byte {
		return asm.New(`{"name":"watching","view":"none"`+hold+`}`).On("penstock_sample", asm.I32(-1)).Wasm()
	}
	write("plugins/house.wasm", asm.New(`{"name":"house"}`).Wasm())
	write("plugins/watching.wasm", watching(""))
	write("others/house.wasm", asm.New(`{"name":"house"}`).Wasm())
	write("others/watching.wasm", watching(`,"hold":1`))
	plugins, others := []string{"--plugin-dir", path("plugins"), "--plugin", "house"}, []string{"--plugin-dir", path("others"), "--plugin", "house"}
	s := startServer(t.Context(), t, append(plugins, "--receipt-key-file", path("key.pem"), "--log-level", "error")...)

	const ask = `{"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 12, "receipt": true, "record": true, "plugins": [{"name": "watching"}]}`
	reply := posted(t, s.url+"/v1/chat/completions", ask)
	var told struct{ Recording, Receipt string }
	if err := json.Unmarshal(reply, &told); err != nil || told.Receipt == "" {
		t.Fatalf("%v: %s", err, reply)
	}
	session := fetched(t, s.url+"/v1/recordings/"+told.Recording)
	builtIn := must.Get(model.Resolve("", model.CheckOptions{CacheDir: t.TempDir()}))(t)
	weights := must.Get(os.ReadFile(builtIn.Path))(t)
	story := bytes.Index(reply, []byte(`"content":"`)) + len(`"content":"`)
	request, answer, rec := write("request.json", []byte(ask)), write("answer.json", reply), write("recording.json.gz", session)
	alone, same, other := write("receipt.jws", []byte(told.Receipt+"\n")), write("same.gguf", weights), write("other.gguf", changed(weights, len(weights)-1))
	key := []string{"--key", path("key.pem")}

	for name, c := range map[string]struct {
		code  int
		says  string
		args  []string
		hides string
	}{
		"the server's keys":   {code: exitDone, says: "signature: good", args: []string{alone, "--key", s.url}},
		"everything":          {code: exitDone, says: "recording: it is the one", args: append(append([]string{answer, "--request", request, "--recording", rec}, key...), plugins...), hides: "note"},
		"the plugins' work":   {code: exitDone, says: "plugin watching: all", args: append(append([]string{alone, "--recording", rec}, key...), plugins...)},
		"computed again":      {code: exitDone, says: "recomputed: the same model", args: append(append([]string{answer, "--request", request, "--model", same}, key...), plugins...), hides: "not compared"},
		"by public keys":      {code: exitDone, says: "not compared", args: append([]string{answer, "--request", request, "--model", same, "--key", s.url}, plugins...)},
		"another receipt":     {code: exitFailed, says: "signature: FAILED", args: append([]string{write("r1", changed([]byte(told.Receipt), 200))}, key...)},
		"another request":     {code: exitFailed, says: "request: FAILED", args: append([]string{alone, "--request", write("r2", changed([]byte(ask), 50))}, key...)},
		"another answer":      {code: exitFailed, says: "answer: FAILED", args: append([]string{write("r3", changed(reply, story))}, key...)},
		"a list":              {code: exitFailed, says: "answer: FAILED", args: append([]string{write("r5", []byte(`[{"content":"forged","receipt":"`+told.Receipt+`"}]`))}, key...)},
		"a stream":            {code: exitFailed, says: "give the text", args: append([]string{write("r6", []byte(`data: {"choices":[{"text":"forged"}],"receipt":"`+told.Receipt+"\"}\n\n"))}, key...)},
		"a stream of lines":   {code: exitFailed, says: "give the text", args: append([]string{write("r7", []byte("{\"response\":\"forged\"}\n{\"receipt\":\""+told.Receipt+"\"}\n"))}, key...)},
		"another recording":   {code: exitFailed, says: "recording: FAILED", args: append([]string{alone, "--recording", write("r4", changed(session, len(session)/2))}, key...)},
		"another model":       {code: exitFailed, says: "recomputed: FAILED: the model's files", args: append(append([]string{alone, "--request", request, "--model", other}, key...), plugins...)},
		"another plugin":      {code: exitFailed, says: "recomputed: FAILED: the plugins", args: append(append([]string{alone, "--request", request, "--model", same}, key...), others...)},
		"another replay":      {code: exitFailed, says: "is not the module that was recorded", args: append(append([]string{alone, "--recording", rec}, key...), others...)},
		"no plugin to replay": {code: exitDone, says: "was not replayed", args: append([]string{alone, "--recording", rec, "--plugin-dir", dir}, key...)},
		"no request":          {code: exitWrongUse, says: "needs the --request", args: append([]string{alone, "--model", same}, key...)},
		"no receipt":          {code: exitFailed, says: "there is no receipt in it", args: append([]string{request}, key...)},
	} {
		got := penstock(t, "", append([]string{"receipt", "verify"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.out+got.err, c.says) || c.hides != "" && strings.Contains(got.out, c.hides) {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
}

// changed is a copy with one bit changed.
func changed(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1
	return data
}

func posted(t *testing.T, url, body string) []byte {
	t.Helper()
	a := must.Get(http.Post(url, "application/json", strings.NewReader(body)))(t)
	return bodyOf(t, a)
}

func fetched(t *testing.T, url string) []byte {
	t.Helper()
	a := must.Get(http.Get(url))(t)
	return bodyOf(t, a)
}

func bodyOf(t *testing.T, a *http.Response) []byte {
	t.Helper()
	defer a.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %v", a.Status, data, err)
	}
	return data
}

// What a server of keys answers is a stranger's word: a terminal obeys none of it.
func TestReceiptVerify_ServersErrorIsPrintable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "\x1b]0;title\a\u009b31m"+strings.Repeat("x", 1<<16), http.StatusNotFound)
	}))
	defer s.Close()
	got := penstock(t, "", "receipt", "verify", "-", "--key", s.URL)
	if got.code != exitFailed || !strings.Contains(got.err, "404") || strings.ContainsAny(got.err, "\x1b\a\u009b") || len(got.err) > 1000 {
		t.Errorf("exit %d: %q", got.code, got.err)
	}
}
