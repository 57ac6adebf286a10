// SPDX-License-Identifier: MIT

package completion_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

// taking takes requests and computes none.
type taking struct {
	servingtest.NoScheduler
	requests []scheduler.Request
	full     bool
}

func (s *taking) SubmitBuilt(_ string, _ int, build func() ([]scheduler.Request, error)) (_ []serving.Stream, err error) {
	if s.full {
		return nil, scheduler.ErrQueueFull
	}
	s.requests, err = build()
	return nil, err
}

// mediaRig is a service with a model that takes pictures and sounds.
type mediaRig struct {
	*completion.Service
	scheduler taking
	encoder   servingtest.MediaEncoder
}

func newMediaRig(memory int64) *mediaRig {
	r := &mediaRig{encoder: servingtest.MediaEncoder{Table: piece.NewTable()}}
	info := servingtest.Info()
	info.Media = media.Abilities{Images: true, AudioRate: 16000}
	m := &serving.Model{Info: info, Engine: servingtest.Toy{}, Scheduler: &r.scheduler, MediaEncoder: &r.encoder}
	r.Service = completion.NewService(servingtest.OneModel{Model: m})
	r.Media = media.NewLoader(media.Bounds{Pixels: 1 << 20, Sound: time.Minute, Memory: memory})
	return r
}

// painted is a picture in base64, and how many embeddings the toy makes of it.
func painted(t *testing.T, side int, shade byte) (file string, rows int) {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, side, side))
	picture.Set(0, 0, color.Gray{shade})
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, picture))
	hash := sha256.Sum256(b.Bytes())
	return base64.StdEncoding.EncodeToString(b.Bytes()), 2 + int(hash[0])%5
}

// hummed is a WAV of so many samples in base64.
func hummed(samples int) string {
	file := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+2*samples))...)
	file = append(file, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data"...)
	file = binary.LittleEndian.AppendUint32(file, uint32(2*samples))
	return base64.StdEncoding.EncodeToString(append(file, make([]byte, 2*samples)...))
}

// converse asks with a message a content, and these files in their places.
func (r *mediaRig) converse(ctx context.Context, common completion.CommonFields, files []string, contents ...string) (*completion.Prompted, error) {
	c := completion.Chat{Conversation: chat.Conversation{Media: media.Sources("f", media.Any, files)}}
	for _, text := range contents {
		c.Messages = append(c.Messages, chat.Message{Role: "user", Content: text})
	}
	return r.Prompt(ctx, completion.Asked{Common: common, PromptField: "messages", Caller: completion.Caller{ID: "me", CacheSalt: "salt"}, Source: c, Answers: completion.OneAnswer()})
}

// complete asks with a prompt as the body has it, for so many choices.
func (r *mediaRig) complete(ctx context.Context, prompt any, choices int) (*completion.Prompted, error) {
	raw, err := json.Marshal(prompt)
	if err != nil {
		return nil, err
	}
	common := completion.DefaultCommonFields()
	return r.Prompt(ctx, completion.Asked{Common: common, PromptField: "prompt", Source: completion.Texts{JSON: raw}, Answers: completion.Answers{PerPrompt: choices, Logprobs: -1}})
}

// seen is a prompt as a person reads it: each row of a piece is a dot.
func seen(prompt []scheduler.Token) string {
	var b strings.Builder
	for _, t := range prompt {
		if t < 0 {
			t = '.'
		}
		b.WriteByte(byte(t))
	}
	return b.String()
}

// A request has the pixels of its pictures, and their memory until it is released.
func TestService_Prompt_Media(t *testing.T) { synctest.Test(t, testMedia) }

func testMedia(t *testing.T) {
	s := newMediaRig(10 << 20) // for one: its pixels are 3 MB, and decoding takes 5 more
	file, _ := painted(t, 1000, 0)
	bytes := must.Get(base64.StdEncoding.DecodeString(file))(t)
	ask := func(ctx context.Context, content string) (*completion.Prompted, error) {
		return s.converse(ctx, completion.DefaultCommonFields(), []string{file}, content)
	}
	if _, err := ask(t.Context(), "no place"); err == nil || !strings.Contains(err.Error(), "places for 0 pictures and sounds, and there are 1") {
		t.Errorf("without a marker: %v", err)
	}
	for range 3 {
		first := must.Get(ask(t.Context(), "a"+media.Marker))(t)
		if len(first.Media.Items) != 1 || first.Media.Items[0].Hash != sha256.Sum256(bytes) || first.Media.Items[0].Picture.Width != 1000 {
			t.Fatalf("the request has %d pictures", len(first.Media.Items))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // which passes when all wait
		if _, err := ask(ctx, "a"+media.Marker); err == nil {
			t.Error("a second request does not wait for the memory of the first")
		}
		cancel()
		first.Release()
	}
	first := must.Get(ask(t.Context(), "a"+media.Marker))(t)
	must.Get(s.Submit(t.Context(), first, completion.Reading{}))(t)
	second, err := ask(t.Context(), "a"+media.Marker)
	if err != nil {
		t.Error("the memory of pixels is held after they were encoded:", err)
	} else {
		second.Release()
	}
	first.Release()
}

// Prompts have as many tokens as they will have before a picture is encoded, and then its tokens,
// in their order.
func TestService_Submit_Media(t *testing.T) {
	s := newMediaRig(64 << 20)
	a, rowsA := painted(t, 3, 1)
	b, rowsB := painted(t, 3, 2)
	sound := hummed(8)
	marker := media.Marker
	picture := func(rows int) string { return "<" + strings.Repeat(".", rows) + ">" }
	r := must.Get(s.converse(t.Context(), completion.DefaultCommonFields(), []string{a, b, sound, a}, "x"+marker+"y", marker+marker+"z"+marker))(t)
	defer r.Release()
	counted := len(r.Prompts[0])
	if n := s.encoder.Encoded.Load(); n != 0 {
		t.Errorf("%d were encoded to count them", n)
	}
	submitted := must.Get(s.Submit(t.Context(), r, completion.Reading{}))(t)
	got := s.scheduler.requests[0]
	prompt := got.Prompt[0].Tokens
	text := seen(prompt)
	before := "user:x" + picture(rowsA) + "y\nuser:" + picture(rowsB)
	after := "z" + picture(rowsA) + "\n"
	heard := len(text) - len(before) - len(after)
	if heard < 2 || text != before+strings.Repeat(".", heard)+after {
		t.Errorf("the prompt is %q", text)
	}
	if counted != len(prompt) {
		t.Errorf("%d tokens were counted, and there are %d", counted, len(prompt))
	}
	if images, sounds := r.MediaTokens(media.Image), r.MediaTokens(media.Audio); images != 2*(rowsA+2)+rowsB+2 || sounds != heard {
		t.Errorf("%d tokens are of pictures and %d of sounds", images, sounds)
	}
	if len(got.Pieces) != 3 || s.encoder.Table.Piece(prompt[len("user:x<")]) == nil {
		t.Errorf("the request holds %d pieces", len(got.Pieces))
	}
	first, last := strings.Index(text, "."), strings.LastIndex(text, ".")
	if !slices.Equal(prompt[first:first+rowsA], prompt[last+1-rowsA:last+1]) {
		t.Error("a picture that stands twice in a prompt has other tokens the second time")
	}
	if diff := cmp.Diff("user:x<>y\nuser:<>z<>\n", seen(submitted.TextTokens(0))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("user:x<", seen(submitted.BeforeMedia())); diff != "" {
		t.Error(diff)
	}
}

// Of several prompts each has its own pictures, and the choices of one share them.
func TestService_Submit_Media_PromptsAndChoices(t *testing.T) {
	s := newMediaRig(64 << 20)
	a, rowsA := painted(t, 3, 1)
	b, rowsB := painted(t, 3, 2)
	type of map[string]any
	r := must.Get(s.complete(t.Context(), []any{"first", of{"prompt_string": media.Marker + "a", "multimodal_data": []string{a}}, []int{65, 66},
		of{"prompt_string": "b" + media.Marker + media.Marker + "c", "multimodal_data": []string{b, a}}}, 2))(t)
	defer r.Release()
	must.Get(s.Submit(t.Context(), r, completion.Reading{}))(t)
	var got []string
	for _, request := range s.scheduler.requests {
		got = append(got, seen(request.Prompt[0].Tokens))
	}
	dotsA, dotsB := "<"+strings.Repeat(".", rowsA)+">", "<"+strings.Repeat(".", rowsB)+">"
	second, fourth := dotsA+"a", "b"+dotsB+dotsA+"c"
	if diff := cmp.Diff([]string{"first", "first", second, second, "AB", "AB", fourth, fourth}, got); diff != "" {
		t.Error(diff)
	}
	if n := s.encoder.Encoded.Load(); n != 2 {
		t.Errorf("%d were encoded; want one for each of two files", n)
	}
}

func TestService_Submit_Media_Refused(t *testing.T) {
	long, _ := painted(t, 3, 1)
	for name, c := range map[string]struct {
		prompt  any
		full    bool
		fails   error
		code    string
		says    string
		charged int
	}{
		"the encoder refuses it": {prompt: map[string]any{"prompt_string": "a" + media.Marker, "multimodal_data": []string{hummed(8)}},
			fails: refusal.Invalid("prompt", "too odd"), code: "invalid_value", says: "too odd", charged: -1},
		"it is too long": {prompt: map[string]any{"prompt_string": strings.Repeat("a", servingtest.Context-4) + media.Marker + "b", "multimodal_data": []string{long}},
			code: refusal.TooLongCode, says: "exceeds the available context size"},
		"the queue is full": {prompt: map[string]any{"prompt_string": media.Marker + "b", "multimodal_data": []string{long}}, full: true,
			code: "queue_full", says: "too many requests"},
	} {
		s := newMediaRig(64 << 20)
		s.scheduler.full, s.encoder.Before = c.full, func(context.Context, string) error { return c.fails }
		r, err := s.complete(t.Context(), c.prompt, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		op, charged := operation.Begin(operation.Record{}), 0
		op.SetClient("", charging{charged: &charged})
		_, err = s.Submit(op.With(t.Context()), r, completion.Reading{})
		if e := completion.AsError(err, "prompt"); e.Code != c.code || !strings.Contains(e.Message, c.says) || e.Field != "prompt" && !c.full {
			t.Errorf("%s: %+v", name, e)
		}
		if n := s.encoder.Encoded.Load(); n != 0 {
			t.Errorf("%s: %d were encoded", name, n)
		}
		if want := c.charged; want == 0 && charged != 0 || want < 0 && charged != r.MediaTokens(media.Audio) {
			t.Errorf("%s: %d tokens were charged", name, charged)
		}
		r.Release()
	}
}

// A client that leaves, or whose time is up, does not wait for the encoder, and lets go of its
// memory.
func TestService_Submit_Media_Ends(t *testing.T) { synctest.Test(t, testMediaEnds) }

func testMediaEnds(t *testing.T) {
	s := newMediaRig(10 << 20) // for one picture
	file, _ := painted(t, 1000, 0)
	s.encoder.Before = func(ctx context.Context, caller string) error {
		if caller != "me" {
			t.Errorf("the encoder is told that %q asks", caller)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	timed := completion.DefaultCommonFields()
	timed.TimeoutMS = new(int64)
	*timed.TimeoutMS = 1500
	for name, common := range map[string]completion.CommonFields{"gone": completion.DefaultCommonFields(), "timed out": timed} {
		r, err := s.converse(t.Context(), common, []string{file}, "a"+media.Marker)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if common.TimeoutMS == nil {
			time.AfterFunc(time.Second, cancel)
		}
		_, err = s.Submit(ctx, r, completion.Reading{})
		cancel()
		if gone := errors.Is(err, refusal.ErrGone); gone != (common.TimeoutMS == nil) || !gone && completion.AsError(err, "").Code != "timeout" {
			t.Errorf("%s: %v", name, err)
		}
		r.Release()
	}
}

// charging adds up what a client is charged.
type charging struct {
	operation.Unlimited
	charged *int
}

func (c charging) Charge(n int) { *c.charged += n }
