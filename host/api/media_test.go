// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

// seeing is a model that keeps the last conversation it was given.
type seeing struct {
	toy
	encoder servingtest.MediaEncoder
	mu      sync.Mutex
	last    chat.Conversation
	prompt  []scheduler.Token // that was submitted last
}

// submitting is the model's scheduler, whose prompts it keeps.
type submitting struct {
	serving.Scheduler
	by *seeing
}

func (s submitting) SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	return s.Scheduler.SubmitBuilt(caller, n, func() ([]scheduler.Request, error) {
		requests, err := build()
		if err == nil {
			s.by.mu.Lock()
			s.by.prompt = requests[0].Prompt[0].Tokens
			s.by.mu.Unlock()
		}
		return requests, err
	})
}

func (s *seeing) Render(ctx context.Context, c chat.Conversation) (chat.Prompt, error) {
	s.mu.Lock()
	s.last = c
	s.mu.Unlock()
	return s.toy.Render(ctx, c)
}

// told are the contents of the conversation's messages, with <> for the places of files, and the
// fields and kinds of these.
func (s *seeing) told() (contents, files []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.last.Messages {
		contents = append(contents, strings.ReplaceAll(m.Content, media.Marker, "<>"))
	}
	for _, p := range s.last.Media {
		files = append(files, p.Field+" "+string(p.Kind)+" "+p.Detail)
	}
	return contents, files
}

// seeingRig serves a model that takes pictures and sounds.
func seeingRig(t *testing.T, change func(*setup)) (*rig, *seeing) {
	model := &seeing{encoder: servingtest.MediaEncoder{Table: piece.NewTable()}}
	return newRig(t, func(s *setup) {
		s.Engine, s.pieces, s.Media = model, model.encoder.Table, media.Bounds{Pixels: 1 << 20, Sound: time.Minute, Memory: 64 << 20}
		s.wrap = func(o servingtest.OneModel) serving.Models {
			o.Model.Media, o.Model.MediaEncoder = media.Abilities{Images: true, AudioRate: 16000}, &model.encoder
			o.Model.Scheduler = submitting{o.Model.Scheduler, model}
			return o
		}
		if change != nil {
			change(s)
		}
	}), model
}

func aPicture(t testing.TB) []byte {
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))))
	return b.Bytes()
}

// aSound is a WAV of four samples.
const aSound = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="

// mediaBodies are requests with files: P is a picture in base64, S a sound.
var mediaBodies = []struct {
	path, body      string
	contents, files []string
}{
	{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,P","detail":"low"}},
		{"type":"text","text":"b"},{"type":"text","text":"c"},{"type":"input_audio","input_audio":{"data":"S","format":"wav"}},{"type":"image_url","image_url":"data:;base64,P"}]},
		{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/octet-stream;base64,P","filename":"x.png"}}]}],"max_tokens":1}`,
		[]string{"a<>b\nc<><>", "<>"}, []string{"messages[0].content[1] picture low", "messages[0].content[4] sound ", "messages[0].content[5] picture ", "messages[1].content[0]  "}},
	{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,P","detail":"high"},{"type":"input_file","file_data":"P"}]},
		{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:;base64,P"}]}],"max_output_tokens":1}`,
		[]string{"a<><>", "", "seen<>"}, []string{"input[0].content[1] picture high", "input[0].content[2]  ", "input[2].output[1] picture "}},
	{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"P"}},{"type":"text","text":"a"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"P"}},{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"b"},{"type":"image","source":{"type":"base64","data":"P"}}]},{"type":"text","text":"c"}]}]}`,
		[]string{"<>a", "", "b<>", "<>c"}, []string{"messages[0].content[0] picture ", "messages[2].content[1].content[1] picture ", "messages[2].content[0] picture "}},
	{"/v1/messages/count_tokens", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"P"}}]}]}`,
		[]string{"<>"}, []string{"messages[0].content[0] picture "}},
	{"/api/chat", `{"messages":[{"role":"user","content":"a","images":["P","data:image/png;base64,P"]}],"options":{"num_predict":1}}`,
		[]string{"<><>a"}, []string{"messages[0].images[0] picture ", "messages[0].images[1] picture "}},
	{"/api/generate", `{"prompt":"a","system":"s","images":["P"],"options":{"num_predict":1}}`, []string{"s", "<>a"}, []string{"images[0] picture "}},
}

func filled(t testing.TB, body string) string {
	picture := base64.StdEncoding.EncodeToString(aPicture(t))
	return strings.NewReplacer(`,P"`, ","+picture+`"`, `"P"`, `"`+picture+`"`, `"S"`, `"`+aSound+`"`).Replace(body)
}

func TestAPI_Media_EachDialect(t *testing.T) {
	r, model := seeingRig(t, nil)
	for _, c := range mediaBodies {
		status, _, answer := r.call(http.MethodPost, c.path, filled(t, c.body))
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", c.path, status, answer)
			continue
		}
		contents, files := model.told()
		if diff := cmp.Diff(c.contents, contents); diff != "" {
			t.Errorf("%s: contents\n%s", c.path, diff)
		}
		if diff := cmp.Diff(c.files, files); diff != "" {
			t.Errorf("%s: files\n%s", c.path, diff)
		}
	}
}

// A broken file and a model that reads text are told with the part, in each dialect.
func TestAPI_Media_Refused(t *testing.T) {
	sees, _ := seeingRig(t, nil)
	blind := newRig(t, nil)
	for _, c := range mediaBodies {
		field, _, _ := strings.Cut(c.files[0], " ")
		if status, _, answer := blind.call(http.MethodPost, c.path, filled(t, c.body)); status != http.StatusBadRequest || !strings.Contains(answer, field+" is a picture, and the model toy reads text only") {
			t.Errorf("%s: %d %s", c.path, status, answer)
		}
		broken := strings.NewReplacer(`,P"`, `,aGVsbG8="`, `"P"`, `"aGVsbG8="`).Replace(c.body)
		if status, _, answer := sees.call(http.MethodPost, c.path, broken); status != http.StatusBadRequest || !strings.Contains(answer, field+" is no file of a kind that is read here") {
			t.Errorf("%s: %d %s", c.path, status, answer)
		}
	}
	for body, says := range map[string]string{
		`[{"type":"video_url"}]`: `messages[0].content[0] has type \"video_url\"; only parts of type text, image_url, input_audio and file are supported`,
		`[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]`:                 "messages[0].content[0] is no data: URL, and this server fetches no others (media.urls)",
		`[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]`:                        "messages[0].content[0] is no data: URL",
		`[{"type":"file","file":{"file_id":"f-1"}}]`:                                             `messages[0].content[0].file_id is \"f-1\"; files are not stored here`,
		`[{"type":"file","file":{}}]`:                                                            "messages[0].content[0] has no file_data",
		`[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0xLjc="}}]`:      "messages[0].content[0] is a PDF, which is not read here",
		`[{"type":"input_audio","input_audio":{}}]`:                                              "messages[0].content[0].input_audio.data is missing",
		`[{"type":"input_audio","input_audio":{"data":"P"}}]`:                                    "messages[0].content[0] stands for a sound, and the file is a picture by its bytes",
		`[{"type":"image_url","image_url":{"url":"data:;base64,P","detail":"sharp"}}]`:           `messages[0].content[0] has the detail \"sharp\"`,
		`[{"type":"image_url","image_url":{"url":"frame:1"}}]`:                                   "messages[0].content[0] names a binary frame, which only requests over the WebSocket have",
		`[{"type":"image_url","image_url":{"url":"data:;base64,P"}},{"type":"text","text":"M"}]`: "the prompt has places for 2 pictures and sounds, and there are 1",
	} {
		body = strings.ReplaceAll(filled(t, body), `"M"`, `"`+media.Marker+`"`)
		status, _, answer := sees.call(http.MethodPost, "/v1/chat/completions", `{"messages":[{"role":"user","content":`+body+`}]}`)
		if status != http.StatusBadRequest || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s; want %s", body, status, answer, says)
		}
	}
}

// A prompt with files has the marker of /props for each.
func TestAPI_Media_MultimodalData(t *testing.T) {
	r, _ := seeingRig(t, nil)
	var props struct {
		Marker     string          `json:"media_marker"`
		Modalities map[string]bool `json:"modalities"`
		Limit      int64           `json:"body_limit"`
	}
	_, _, text := r.call(http.MethodGet, "/props", "")
	if err := json.Unmarshal([]byte(text), &props); err != nil || props.Limit != 64<<10 || !props.Modalities["vision"] || !props.Modalities["audio"] || props.Modalities["video"] {
		t.Fatalf("%v %s", err, text)
	}
	picture := base64.StdEncoding.EncodeToString(aPicture(t))
	for prompt, says := range map[string]string{
		fmt.Sprintf(`{"prompt_string":"a %s b %[1]s.","multimodal_data":["%s","%s"]}`, props.Marker, picture, aSound): "",
		fmt.Sprintf(`["a",{"prompt_string":"a %s","multimodal_data":["%s"]}]`, props.Marker, picture):                 "",
		`{"prompt_string":"a","multimodal_data":[]}`:                                                                  "",
		`{"prompt_string":"a","multimodal_data":["` + picture + `"]}`:                                                 "prompt.prompt_string: the prompt has places for 0 pictures and sounds, and there are 1",
		`{"prompt_string":[1,2],"multimodal_data":["` + picture + `"]}`:                                               "prompt.prompt_string must be a text, since there are files in multimodal_data",
		`{"prompt_string":"a","multimodal_data":"x"}`:                                                                 "prompt.multimodal_data must be a list of files in base64",
		fmt.Sprintf(`["a",{"prompt_string":"%s","multimodal_data":["aGk="]}]`, props.Marker):                          "prompt[1].multimodal_data[0] is no file of a kind that is read here",
	} {
		for _, path := range []string{"/completion", "/v1/completions"} {
			status, _, answer := r.call(http.MethodPost, path, `{"prompt":`+prompt+`,"max_tokens":1}`)
			if want := says == ""; (status == http.StatusOK) != want || !strings.Contains(answer, says) {
				t.Errorf("%s %s: %d %s; want %q", path, prompt, status, answer, says)
			}
		}
	}
}

// A file that comes in a binary frame is named by its id, by requests on its connection alone,
// until newer ones need its room.
func TestSocket_Media_BinaryFrames(t *testing.T) {
	r, model := seeingRig(t, nil)
	p := r.dial()
	put := func(id string, data []byte) {
		t.Helper()
		must.Do(t, p.conn.Write(t.Context(), websocket.MessageBinary, append(append([]byte{byte(len(id))}, id...), data...)))
	}
	ask := func(url string) serverFrame {
		t.Helper()
		p.send(`{"type":"generate","id":"a","request":{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"%s"}}]}],"max_tokens":1}}`, url)
		f := p.next()
		for f.Type != "end" && f.Type != "error" {
			f = p.next()
		}
		return f
	}
	put("cat.png", aPicture(t))
	for range 2 {
		if f := ask("frame:cat.png"); f.Type != "end" {
			t.Fatalf("%+v", f)
		}
	}
	if _, files := model.told(); len(files) != 1 || files[0] != "messages[0].content[0] picture " {
		t.Errorf("the model was told of %v", files)
	}
	if f := ask("frame:dog.png"); !strings.Contains(f.Error.Message, `messages[0].content[0] names the binary frame "dog.png", which is not here`) {
		t.Errorf("%+v", f)
	}
	put("large", make([]byte, 64<<10-6))
	if f := ask("frame:cat.png"); !strings.Contains(f.Error.Message, "which is not here") {
		t.Errorf("older files are kept for ever: %+v", f)
	}
	for _, bad := range [][]byte{{}, {0}, {1, 'a'}, {200, 'a'}, {1, 0xff, 1}} {
		must.Do(t, p.conn.Write(t.Context(), websocket.MessageBinary, bad))
		if f := p.next(); f.Type != "error" || f.Error.Code != "invalid_frame" {
			t.Errorf("%v: %+v", bad, f)
		}
	}
	if f := r.dial(); f != nil {
		f.send(`{"type":"generate","id":"a","request":{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"frame:large"}}]}]}}`)
		if e := f.next(); !strings.Contains(e.Error.Message, "which is not here") {
			t.Errorf("another connection's file: %+v", e)
		}
	}
}

// Files that are kept count in server.body_memory, and no more once their connection has ended.
func TestSocket_Media_Memory(t *testing.T) {
	r, _ := seeingRig(t, func(s *setup) { s.BodyLimit, s.BodyMemory = 256<<10, 512<<10 })
	frame := append([]byte{1, 'a'}, make([]byte, 200<<10)...)
	first := r.dial()
	_ = first.conn.Write(t.Context(), websocket.MessageBinary, frame)
	_ = first.conn.Write(t.Context(), websocket.MessageBinary, append([]byte{1, 'b'}, make([]byte, 40<<10)...))
	first.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	first.until("end") // frames are read in their order: both files are kept before another connection asks for room
	second := r.dial()
	_ = second.conn.Write(t.Context(), websocket.MessageBinary, frame)
	if f := second.next(); f.Error.Code != "bodies_too_large" {
		t.Fatalf("%+v; want no room", f)
	}
	_ = first.conn.CloseNow()
	for deadline := time.Now().Add(patience); ; {
		_ = second.conn.Write(t.Context(), websocket.MessageBinary, frame)
		second.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
		if f := second.next(); f.Type == "started" {
			break // no error came before
		}
		second.until("end")
		if time.Now().After(deadline) {
			t.Fatal("the room of a connection that has ended is not given back")
		}
	}
}
