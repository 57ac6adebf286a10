// SPDX-License-Identifier: MIT

package peer

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/steadytest"
)

// Transcripts are llama-server's, in one piece and streamed, with each field that it reads. `make
// test` tries two of the projectors that hear.
func TestTranscriptions_AsLlamaServer(t *testing.T) {
	pairs := slices.DeleteFunc(slices.Clone(synth.MediaPairs), func(pair synth.MediaPair) bool { return !pair.Hears() || pair.Sees() })
	if !running() {
		pairs = steadytest.Some(t, pairs, 2)
	}
	for _, pair := range pairs {
		t.Run(pair.Projector, func(t *testing.T) {
			s := newSensing(t, pair)
			for i, fields := range [][]string{nil, {"language", "de"}, {"prompt", "What is said?"}, {"prompt", "Words:", "language", "fr", "model", "any"}} {
				sound := s.all[i%2].file // the second has two windows
				want, peers := transcribe(s, s.peer, sound, fields, false)
				if want == "" {
					t.Fatalf("%v: llama-server says nothing", fields)
				}
				for _, stream := range []bool{false, true} {
					got, ours := transcribe(s, s.ours, sound, fields, stream)
					if ours != peers || !sameTranscript(got, want) {
						t.Errorf("%v, streamed %v: llama-server says %q (%+v), Penstock %q (%+v)", fields, stream, want, peers, got, ours)
					}
				}
			}
		})
	}
}

// sameTranscript reports whether two transcripts are the same. What is stored was computed on
// another machine, where of two tokens that are as good as equal the other one may come first: with
// random weights that happens, and all that follows differs.
func sameTranscript(got, want string) bool {
	if running() {
		return got == want
	}
	return strings.HasPrefix(got, want[:len(want)/4])
}

// transcriptTokens are what a transcript says of its tokens.
type transcriptTokens struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Total  int `json:"total_tokens"`
}

// transcribe has a server write down a sound: the text, and how many tokens that took.
func transcribe(s *sensing, server Server, sound []byte, fields []string, stream bool) (string, transcriptTokens) {
	s.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.SetBoundary("----a-boundary----"); err != nil { // not by chance: llama-server's answers are stored by request
		s.Fatal(err)
	}
	fields = append([]string{"temperature", "0", "max_tokens", strconv.Itoa(answered), "stream", strconv.FormatBool(stream)}, fields...)
	for i := 0; i < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			s.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("file", "speech.wav")
	if err == nil {
		_, err = file.Write(sound)
	}
	if err != nil {
		s.Fatal(err)
	}
	if err := form.Close(); err != nil {
		s.Fatal(err)
	}
	answer, err := http.Post(server.URL+"/v1/audio/transcriptions", form.FormDataContentType(), &body)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("%v %s: %s", err, answer.Status, text)
	}
	last := text
	if stream {
		if deltas, whole := joined(s.T, string(text), "delta"), joined(s.T, string(text), "text"); deltas != whole {
			s.Errorf("the deltas are %q, the end says %q", deltas, whole)
		}
		at := bytes.LastIndex(text, []byte("data: {"))
		last, _, _ = bytes.Cut(text[at+len("data: "):], []byte("\n"))
	}
	var told struct{ Usage transcriptTokens }
	if err := json.Unmarshal(last, &told); err != nil {
		s.Fatalf("%v: %s", err, last)
	}
	return joined(s.T, string(last), "text"), told.Usage
}
