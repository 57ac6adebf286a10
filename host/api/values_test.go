// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// costly are bodies of very many values, each with a list where some route decodes one.
var costly = map[string]string{
	"numbers": `0`, "texts": `""`, "lists": `[]`, "pairs": `[1,1]`, "objects": `{}`, "messages": `{"role":"user","content":""}`,
}

// costlyBody is a body that has such lists wherever a route looks for one.
func costlyBody(item string, size int) string {
	list := "[" + strings.Repeat(item+",", size/(len(item)+1)) + item + "]"
	var b strings.Builder
	b.WriteString(`{"max_tokens":1`)
	for _, field := range []string{"messages", "prompt", "input", "content", "tokens", "documents", "tools", "stop", "logit_bias", "system", "samplers"} {
		b.WriteString(`,"` + field + `":` + list)
	}
	return b.String() + "}"
}

// allocated is how many bytes a request takes in all, garbage included, and its answer.
func allocated(handler http.Handler, path, body string) (int64, *httptest.ResponseRecorder) {
	w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, strings.Replace(path, ":id", "1?action=save", 1), strings.NewReader(body))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	handler.ServeHTTP(w, q)
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), w
}

// Bodies of more values than there is memory for are refused before they are decoded, on each
// route that takes JSON.
func TestAPI_BodyMemory_TooManyValues(t *testing.T) {
	r := newRig(t, func(s *setup) { s.BodyLimit, s.BodyMemory = 2<<20, 1<<20 })
	for _, path := range postRoutes(r.handler) {
		if strings.HasSuffix(path, "/audio/transcriptions") { // see TestAPI_Transcription_TooManyValues
			continue
		}
		for name, item := range costly {
			body := costlyBody(item, 8<<10)
			taken, w := allocated(r.handler, path, body)
			isRead := w.Code != http.StatusForbidden && w.Code != http.StatusNotFound && w.Code != http.StatusNotImplemented // as an admin's is not
			if isRead && w.Code != http.StatusRequestEntityTooLarge || isRead && !strings.Contains(w.Body.String(), "server.body_memory") {
				t.Errorf("%s, %s: %d %.200s", path, name, w.Code, w.Body)
			}
			if most := 10*int64(len(body)) + 64<<10; taken > most {
				t.Errorf("%s, %s: a refused body of %d bytes took %d", path, name, len(body), taken)
			}
		}
	}
}

// What decoding takes, garbage included, is in proportion to what is counted of it.
func TestAPI_Values_TakeWhatIsCounted(t *testing.T) {
	r := newRig(t, func(s *setup) { s.BodyLimit = 2 << 20 })
	some := steadytest.Some(t, []string{"messages", "prompt", "input", "content", "tokens", "documents", "tools", "stop", "logit_bias", "system",
		"samplers"}, 4)
	for _, path := range postRoutes(r.handler) {
		for name, item := range costly {
			for _, field := range some {
				const size = 8 << 10
				body := `{"max_tokens":1,"` + field + `":[` + strings.Repeat(item+",", size/(len(item)+1)) + item + `]}`
				values := int64(strings.Count(body, ",") + strings.Count(body, "[") + strings.Count(body, "{") + strings.Count(body, ":"))
				taken, w := allocated(r.handler, path, body)
				if most := 8*(int64(len(body))+values*128) + 256<<10; taken > most {
					t.Errorf("%s, %s of %s: %d bytes, %d values took %d bytes (%d)", path, field, name, len(body), values, taken, w.Code)
				}
			}
		}
	}
}

// Values count while a request is made of them, and no longer: its answer may take its time.
func TestAPI_BodyMemory_ValuesOfOthers(t *testing.T) {
	engine := newScribe()
	g := newGate()
	r := newRig(t, func(s *setup) {
		g.on(s)
		s.Engine, s.BodyMemory, s.StreamGrace = engine, 500<<10, time.Nanosecond
	})
	defer engine.letGo()
	defer g.open()
	// Long enough for the permits of long texts, so that short ones are worked on
	// beside it.
	tokens := strings.Repeat(`,1`, 2000) + strings.Repeat(" ", 40<<10) + `],"max_tokens":1,"stream":true}`
	first := make(chan *http.Response, 1)
	go func() {
		a, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":["slow"`+tokens))
		if err != nil {
			t.Error(err)
		}
		first <- a
	}()
	await(t, engine.begun)
	status, header, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":["quick"`+tokens)
	if status != 503 || header.Get("Retry-After") != "1" || !strings.Contains(body, "bodies_too_large") {
		t.Errorf("beside one that is decoded: %d %v %.200s", status, header, body)
	}
	if status, _, body := r.call(http.MethodPost, "/tokenize", tokenize); status != 200 {
		t.Errorf("a small one: %d %s", status, body)
	}
	engine.letGo()
	a := await(t, first) // its headers: the request is made
	if a == nil {
		return
	}
	defer a.Body.Close()
	go g.open()
	if status, _, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":["quick"`+tokens); status != 200 {
		t.Errorf("beside one that is answered: %d %.200s", status, body)
	}
}

// A frame of too many values is refused, and the connection lives on.
func TestSocket_BodyMemory_TooManyValues(t *testing.T) {
	r := newRig(t, func(s *setup) { s.BodyLimit, s.BodyMemory = 1<<20, 1<<20 })
	conn, _ := must.Both(websocket.Dial(t.Context(), r.url+"/v1/ws", nil))(t)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	for _, frame := range []string{`{"type":"generate","id":"a","request":{"messages":[` + strings.Repeat("0,", 20000) + `0]}}`, `{"type":"nothing","id":"a"}`} {
		must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(frame)))
		_, answer := must.Both(conn.Read(t.Context()))(t)
		if refused := strings.Contains(string(answer), "body_too_large"); refused != (len(frame) > 1000) {
			t.Errorf("%.60s is answered %s", frame, answer)
		}
	}
}
