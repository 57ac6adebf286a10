// SPDX-License-Identifier: MIT

package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// door is a way by which a file comes to a model: a body with F for the file in base64, and the
// field by which it is refused.
type door struct{ path, body, field string }

var (
	pictureDoors = []door{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,F"}}]}]}`, "messages[0].content[0]"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,F"}}]}],"stream":true}`, "messages[0].content[0]"},
		{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/webp;base64,F"}]}]}`, "input[0].content[0]"},
		{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"F"}}]}]}`, "messages[0].content[0]"},
		{"/v1/messages/count_tokens", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"F"}}]}]}`, "messages[0].content[0]"},
		{"/api/chat", `{"messages":[{"role":"user","content":"a","images":["F"]}]}`, "messages[0].images[0]"},
		{"/api/generate", `{"prompt":"a","images":["F"]}`, "images[0]"},
	}
	soundDoors = []door{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"F","format":"wav"}}]}]}`, "messages[0].content[0]"},
		{transcriptions, "", "file"},
		{"/v1/chat/completions/input_tokens", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"F","format":"mp3"}}]}]}`, "messages[0].content[0]"},
	}
)

// Hostile files are a 400 that names their field, by each API. They take little
// memory, and the server answers as before.
func TestAPI_Media_HostileFiles(t *testing.T) {
	r, _ := seeingRig(t, func(s *setup) {
		s.BodyLimit, s.Media = 4<<20, media.Bounds{Pixels: mediatest.Pixels, Sound: mediatest.Seconds * time.Second, Memory: mediatest.Memory}
	})
	files := steadytest.Some(t, mediatest.Hostile(), 15) // host/media tries them all
	begin := time.Now()
	var longest time.Duration
	for i, f := range files {
		doors := pictureDoors
		if f.Sound {
			doors = soundDoors
		}
		d := doors[i%len(doors)]
		kind, body := "application/json", strings.Replace(d.body, `F"`, base64.StdEncoding.EncodeToString(f.Data)+`"`, 1)
		if d.path == transcriptions {
			kind, body = formOf(t, f.Data)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		asked := time.Now()
		status, _, answer := r.call(http.MethodPost, d.path, body, "Content-Type", kind)
		longest = max(longest, time.Since(asked))
		runtime.ReadMemStats(&after)
		if status != http.StatusBadRequest || !strings.Contains(answer, d.field) {
			t.Errorf("%s by %s: %d %.300s; want a 400 that names %s", f.Name, d.path, status, answer, d.field)
		}
		if taken, most := int64(after.TotalAlloc-before.TotalAlloc), mediatest.Memory+32*int64(len(body)); taken > most {
			t.Errorf("%s by %s: %d bytes were taken", f.Name, d.path, taken)
		}
	}
	t.Logf("%d files in %v, the longest in %v", len(files), time.Since(begin), longest)
	stillAnswers(t, r)
}

// stillAnswers asks about a picture that needs nearly all memory for decoding: nothing of it was
// lost.
func stillAnswers(t *testing.T, r *rig) {
	t.Helper()
	picture := base64.StdEncoding.EncodeToString(mediatest.PNG(1000, 1000))
	body := strings.NewReplacer(`F"`, picture+`"`, `}]}]}`, `}]}],"max_tokens":1}`).Replace(pictureDoors[0].body)
	if status, _, answer := r.call(http.MethodPost, pictureDoors[0].path, body); status != http.StatusOK {
		t.Errorf("afterwards a good picture is answered %d %.300s", status, answer)
	}
}

// Sources that lie about what follows are refused where they stand: URLs within URLs, and base64
// that is none.
func TestAPI_Media_HostileSources(t *testing.T) {
	r, _ := seeingRig(t, func(s *setup) { s.BodyLimit = 4 << 20 })
	good := base64.StdEncoding.EncodeToString(aPicture(t))
	nested := "data:image/png;base64," + good
	for range 5 {
		nested = "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(nested))
	}
	for name, source := range map[string]string{
		"nested": nested, "a URL in a URL": "data:image/png;base64,data:image/png;base64," + good, "no base64": "data:image/png," + good, "no comma": "data:image/png;base64" + good,
		"a comma far away": "data:" + strings.Repeat("x", 300) + ";base64," + good, "a long type": "data:" + strings.Repeat("a", 1<<20), "nothing": "data:image/png;base64,", "only the scheme": "data:",
		"base64 for URLs": "data:image/png;base64,__--__--", "escapes": "data:image/png;base64,%69%56", "a space": "data:image/png;base64," + good[:4] + " " + good[4:],
		"padding in the middle": "data:image/png;base64," + good[:4] + "==" + good[4:], "too much padding": "data:image/png;base64," + strings.TrimRight(good, "=") + "====", "bits left over": "data:image/png;base64,aGl=",
		"one letter": "data:image/png;base64,a", "an empty source": "", "a file": "file:///etc/passwd", "a path": "/etc/passwd", "a scheme of Windows": `\\host\share\a.png`, "a script": "javascript:alert(1)",
		"a blob": "blob:https://example.com/1", "a URL": "https://127.0.0.1/a.png", "a URL without a scheme": "//169.254.169.254/latest/meta-data", "a frame": "frame:1", "a frame without a name": "frame:", "a parameter": "data:image/png;charset=utf-8;base64=,x",
		"zeros": "data:image/png;base64," + strings.Repeat("A", 1<<20), "gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
	} {
		text := must.Get(json.Marshal(source))(t)
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%s}}]}]}`, text)
		if status, _, answer := r.call(http.MethodPost, "/v1/chat/completions", body); status != http.StatusBadRequest || !strings.Contains(answer, `"param":"messages[0].content[0]`) {
			t.Errorf("%s: %d %.300s", name, status, answer)
		}
	}
	stillAnswers(t, r)
}

// The files of binary frames are read as those of bodies are.
func TestSocket_Media_HostileFiles(t *testing.T) {
	r, _ := seeingRig(t, func(s *setup) {
		s.BodyLimit, s.Media = 4<<20, media.Bounds{Pixels: mediatest.Pixels, Sound: mediatest.Seconds * time.Second, Memory: mediatest.Memory}
	})
	p := r.dial()
	for i, f := range mediatest.Hostile() {
		if i%5 > 0 || len(f.Data) == 0 {
			continue
		}
		must.Do(t, p.conn.Write(t.Context(), websocket.MessageBinary, append([]byte("\x01f"), f.Data...)))
		part := `{"type":"image_url","image_url":{"url":"frame:f"}}`
		if f.Sound {
			part = `{"type":"input_audio","input_audio":{"data":"frame:f"}}`
		}
		p.send(`{"type":"generate","id":"a","request":{"messages":[{"role":"user","content":[%s]}],"max_tokens":1}}`, part)
		if e := p.next(); e.Type != "error" || !strings.Contains(e.Error.Message, "messages[0].content[0]") {
			t.Errorf("%s: %+v", f.Name, e)
		}
	}
	stillAnswers(t, r)
}
