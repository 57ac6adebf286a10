// SPDX-License-Identifier: MIT

package api

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

const transcriptions = "/v1/audio/transcriptions"

// wav is aSound as a file.
func wav(t testing.TB) []byte {
	return must.Get(base64.StdEncoding.DecodeString(aSound))(t)
}

// formOf is a form of fields, each a name and a text, and a file; nil: none.
func formOf(t testing.TB, file []byte, fields ...string) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		must.Do(t, w.WriteField(fields[i], fields[i+1]))
	}
	if file != nil {
		part, err := w.CreateFormFile("file", "speech.wav")
		if err == nil {
			_, err = part.Write(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, w.Close())
	return w.FormDataContentType(), b.String()
}

func (r *rig) transcribe(file []byte, fields ...string) (int, http.Header, string) {
	r.t.Helper()
	kind, body := formOf(r.t, file, fields...)
	return r.call(http.MethodPost, transcriptions, body, "Content-Type", kind)
}

func withTemplate(template string) func(*setup) {
	return func(s *setup) {
		wrap := s.wrap
		s.wrap = func(o servingtest.OneModel) serving.Models {
			o.Model.Template.Source = template
			return wrap(o)
		}
	}
}

// The message that asks for a transcript is llama-server's.
func TestAPI_Transcription_Asks(t *testing.T) {
	for _, c := range []struct {
		template string
		fields   []string
		contents []string
	}{
		{"", nil, []string{"Transcribe audio to text<>"}},
		{"", []string{"language", "de"}, []string{"Transcribe audio to text (language: de)<>"}},
		{"", []string{"prompt", "What is said?", "language", "fr", "model", "any", "user", "me"}, []string{"What is said? (language: fr)<>"}},
		{"<|tool_list_start|> <|tool_list_end|>", nil, []string{"Perform ASR.", "<>"}},
		{"<|tool_list_start|> <|tool_list_end|>", []string{"prompt", "Listen"}, []string{"Perform ASR.", "Listen<>"}},
	} {
		r, model := seeingRig(t, withTemplate(c.template))
		status, _, text := r.transcribe(wav(t), append(c.fields, "max_tokens", "3")...)
		if status != http.StatusOK {
			t.Fatalf("%v: %d %s", c.fields, status, text)
		}
		contents, files := model.told()
		if diff := cmp.Diff(c.contents, contents); diff != "" {
			t.Errorf("%v: contents\n%s", c.fields, diff)
		}
		if diff := cmp.Diff([]string{"file sound "}, files); diff != "" {
			t.Errorf("%v: files\n%s", c.fields, diff)
		}
	}
}

// A transcript as it comes.
type aTranscript struct {
	Type, Text, Delta string
	Logprobs          []wire.TokenProb
	FinishReason      string `json:"finish_reason"`
	Usage             struct {
		Type    string
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Total   int `json:"total_tokens"`
		Details struct {
			Text  int `json:"text_tokens"`
			Audio int `json:"audio_tokens"`
		} `json:"input_token_details"`
	}
}

// A transcript is the same in one piece, as text and as a stream.
func TestAPI_Transcription_Answers(t *testing.T) {
	r, _ := seeingRig(t, nil)
	greedy := []string{"max_tokens", "12", "temperature", "0", "include[]", "logprobs"}
	status, header, text := r.transcribe(wav(t), greedy...)
	var whole aTranscript
	if err := json.Unmarshal([]byte(text), &whole); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, text, err)
	}
	if whole.Type != "transcript.text.done" || whole.Text == "" || whole.FinishReason != "length" || len(whole.Logprobs) != 12 {
		t.Errorf("%d %s", status, text)
	}
	u := whole.Usage
	if u.Type != "tokens" || u.Output != 12 || u.Total != u.Input+12 || u.Details.Text+u.Details.Audio != u.Input || u.Details.Text == 0 || u.Details.Audio == 0 {
		t.Errorf("usage %+v", u)
	}
	if kind := header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Error(kind)
	}
	status, header, plain := r.transcribe(wav(t), append(greedy, "response_format", "text")...)
	if status != http.StatusOK || plain != whole.Text || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		t.Errorf("%d %s %q; want %q", status, header.Get("Content-Type"), plain, whole.Text)
	}
	status, _, stream := r.transcribe(wav(t), append(greedy, "stream", "True", "response_format", "json")...)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, stream)
	}
	var deltas string
	all := frames(t, stream)
	if all[len(all)-1] != "[DONE]" {
		t.Errorf("the last frame is %s", all[len(all)-1])
	}
	for i, data := range all[:len(all)-1] {
		var f aTranscript
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatal(err, data)
		}
		if last := i == len(all)-2; last != (f.Type == "transcript.text.done") || !last && f.Type != "transcript.text.delta" {
			t.Errorf("frame %d of %d: %s", i, len(all), data)
		}
		deltas += f.Delta
		if f.Text != "" && f.Text != deltas || f.Text != "" && f.Usage.Total != u.Total {
			t.Errorf("%s ends %q", data, deltas)
		}
	}
	if deltas != whole.Text {
		t.Errorf("streamed %q; whole %q", deltas, whole.Text)
	}
}

// What a form lacks or has too much of is refused by its field.
func TestAPI_Transcription_Refused(t *testing.T) {
	r, _ := seeingRig(t, nil)
	picture := aPicture(t)
	many := []string{}
	for range 300 {
		many = append(many, "x", "y")
	}
	for name, c := range map[string]struct {
		file        []byte
		fields      []string
		field, says string
	}{
		"no file":        {nil, []string{"model", "toy"}, "file", "file is missing"},
		"an empty file":  {[]byte{}, nil, "file", "file is no file of a kind that is read here"},
		"no sound":       {[]byte("OggS1234"), nil, "file", "save it as WAV or MP3"},
		"a picture":      {picture, nil, "file", "file stands for a sound, and the file is a picture"},
		"cut off":        {wav(t)[:44], nil, "file", "it has no samples"},
		"times":          {wav(t), []string{"response_format", "verbose_json"}, "response_format", "ask for json or text"},
		"subtitles":      {wav(t), []string{"response_format", "srt"}, "response_format", "ask for json or text"},
		"a format":       {wav(t), []string{"response_format", "xml"}, "response_format", `response_format is "xml"; it must be json or text`},
		"granularities":  {wav(t), []string{"timestamp_granularities[]", "word"}, "timestamp_granularities", "tells no times"},
		"speakers":       {wav(t), []string{"known_speaker_names[]", "a", "known_speaker_names[]", "b"}, "known_speaker_names", "tells no speakers"},
		"included":       {wav(t), []string{"include[]", "logprobs", "include[]", "all"}, "include[1]", "must be logprobs"},
		"no tokens":      {wav(t), []string{"max_tokens", "0"}, "max_tokens", "max_tokens is 0"},
		"twice":          {wav(t), []string{"prompt", "a", "prompt", "b"}, "prompt", "prompt stands in the form twice"},
		"not UTF-8":      {wav(t), []string{"prompt", "a\xff"}, "prompt", "prompt is not in UTF-8"},
		"a long prompt":  {wav(t), []string{"prompt", strings.Repeat("word ", 500)}, "prompt", "exceeds the available context size"},
		"the marker":     {wav(t), []string{"prompt", "a" + media.Marker}, "prompt", "the prompt has places for 2 pictures and sounds"},
		"too many parts": {wav(t), many, "", "has more than 256 parts"},
	} {
		status, _, text := r.transcribe(c.file, c.fields...)
		var told struct {
			Error struct{ Message, Param string }
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || status != http.StatusBadRequest || told.Error.Param != c.field || !strings.Contains(told.Error.Message, c.says) {
			t.Errorf("%s: %d %s; want %q of %q", name, status, text, c.says, c.field)
		}
	}
	blind := newRig(t, nil)
	if status, _, text := blind.transcribe(wav(t)); status != http.StatusBadRequest || !strings.Contains(text, "file is a sound, and the model toy reads text only") {
		t.Errorf("a model that reads text: %d %s", status, text)
	}
}

// A body that is no form, or one that has no end, is refused as such; one that is too large by its
// size.
func TestAPI_Transcription_NoForm(t *testing.T) {
	r, _ := seeingRig(t, nil)
	kind, good := formOf(t, wav(t))
	for _, c := range []struct {
		kind, body string
		status     int
		says       string
	}{
		{"application/json", `{"file":"x"}`, 400, `the request body is of type \"application/json\"; this route takes a form`},
		{"", good, 400, "this route takes a form"},
		{"multipart/form-data", good, 400, "this route takes a form"},
		{"multipart/mixed; boundary=x", good, 400, "this route takes a form"},
		{"multipart/form-data; boundary=other", good, 400, "the form cannot be read: its part 1"},
		{kind, good[:len(good)-10], 400, "the form cannot be read: its part"},
		{kind, good[:60], 400, "the form cannot be read: its part 1"},
		{kind, "", 400, "the form cannot be read: its part 1"},
		{kind, strings.Replace(good, "RIFF", strings.Repeat("R", 70<<10), 1), 413, "body"},
		{kind, good + strings.Repeat("x", 70<<10), 413, "body"},
	} {
		if status, _, text := r.call(http.MethodPost, transcriptions, c.body, "Content-Type", c.kind); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %.100s: %d %s; want %d %q", c.kind, c.body, status, text, c.status, c.says)
		}
	}
	if status, _, text := r.call(http.MethodPost, "/audio/transcriptions", good, "Content-Type", kind); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

// The fields of a form have the types of those of a body of JSON, and errors name them.
func TestAPI_Transcription_WrongFields(t *testing.T) {
	r, _ := seeingRig(t, nil)
	wrong := map[string][]string{"integer": {"x", "1.5", "1e99", "[1]"}, "number": {"x", "[1]", "{"}, "true or false": {"x", "3", "yes"}, "object": {"x", "7"}}
	tried := 0
	for _, d := range Dialects() {
		for _, route := range d.Routes {
			if route.Path != transcriptions {
				continue
			}
			for _, f := range wire.Fields(route.Body) {
				for _, value := range wrong[f.Type] {
					tried++
					if status, _, text := r.transcribe(wav(t), f.Name, value); status != http.StatusBadRequest || !strings.Contains(text, `"param":"`+f.Name) {
						t.Errorf("%s=%s: %d %s", f.Name, value, status, text)
					}
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d fields were tried", tried)
	}
	if status, _, text := r.transcribe(wav(t), "temperature", "-1"); status != http.StatusBadRequest || !strings.Contains(text, "temperature is -1") {
		t.Errorf("%d %s", status, text)
	}
	status, header, text := r.transcribe(wav(t), "chunking_strategy", "auto", "max_tokens", "-1", "seed", "3", "top_k", "5", "unknown", "x")
	if want := []string{`199 penstock "chunking_strategy is left out: this server does not act on it"`}; status != http.StatusOK || !slices.Equal(header.Values("Warning"), want) {
		t.Errorf("%d %v %s", status, header, text)
	}
}

// What a form's fields become is bounded as what the values of a body of JSON become.
func TestAPI_Transcription_TooManyValues(t *testing.T) {
	r, _ := seeingRig(t, func(s *setup) { s.BodyLimit, s.BodyMemory = 2<<20, 1<<20 })
	list := "[" + strings.Repeat("[],", 8<<10) + "[]]"
	if status, _, text := r.transcribe(wav(t), "logit_bias", list); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "server.body_memory") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := r.transcribe(wav(t), "grammar", strings.Repeat("x", 600<<10), "prompt", strings.Repeat("y", 600<<10)); status != http.StatusBadRequest || !strings.Contains(text, "prompt is too long") {
		t.Errorf("%d %s", status, text)
	}
}

// A failure after the stream has begun is an event.
func TestAPI_Transcription_FailsLate(t *testing.T) {
	passes, begun := 0, make(chan struct{})
	r, _ := seeingRig(t, func(s *setup) {
		s.fail = func(*scheduler.Batch) error {
			if passes++; passes <= 10 {
				return nil
			}
			<-begun
			return errors.New("the device is lost")
		}
	})
	kind, form := formOf(t, wav(t), "stream", "true")
	answer, err := http.Post(r.url+transcriptions, kind, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for first := ""; !strings.Contains(first, "transcript.text.delta"); {
		if first, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(begun)
	rest, err := io.ReadAll(lines)
	if end := string(rest); err != nil || !strings.Contains(end, `data: {"error":{`) || !strings.HasSuffix(end, "data: [DONE]\n\n") {
		t.Errorf("%v %s", err, end)
	}
}

// FuzzForm reads forms of any bytes: each is answered, or refused with a 4xx.
func FuzzForm(f *testing.F) {
	one := servingtest.OneModel{Model: &serving.Model{Info: servingtest.Info(), Engine: toy{}, Scheduler: servingtest.NoScheduler{},
		MediaEncoder: &servingtest.MediaEncoder{Table: piece.NewTable()}}}
	one.Model.Media.AudioRate = 16000
	handler := New(Options{Log: slog.New(slog.DiscardHandler), Models: one,
		Bounds: Bounds{BodyLimit: 1 << 20, Media: media.Bounds{Pixels: 1 << 20, Sound: time.Minute, Memory: 64 << 20}}})
	for _, fields := range [][]string{{}, {"stream", "true"}, {"include[]", "logprobs", "temperature", ".5"}, {"grammar", "root ::= [a-z]"}} {
		kind, body := formOf(f, wav(f), fields...)
		f.Add(kind, []byte(body))
		f.Add(kind, []byte(body[:len(body)/2]))
	}
	f.Add("multipart/form-data; boundary=a", []byte("--a\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=52\r\n--a--"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		q := httptest.NewRequest(http.MethodPost, transcriptions, bytes.NewReader(body))
		q.Header["Content-Type"] = []string{kind}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, q)
		// The scheduler takes nothing: a good form finds it busy.
		if w.Code < 400 || w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
