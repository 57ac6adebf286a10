// SPDX-License-Identifier: MIT

package guest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// hostCalls is plugins/abi/testdata/hostcalls.json, which says what the fields mean.
type hostCalls struct {
	Request struct {
		Config, Messages string
		Media            string
		Model, Sampling  string
		Pieces           []string
		Attributes       []uint32
		Special          map[int32]int32
		Prompt           []int32
		MaxTokens        int `json:"max_tokens"`
		ContextSize      int `json:"context_size"`
		Seed             uint64
		Time             int64
		Choice, Choices  int
	}
	Open, Template []hostCall
}

type hostCall struct {
	Call   string
	Args   []any
	Answer int64
	Bits   string
	Wrote  []int
}

// bufferSize is what an argument that is a text has, and from where on such arguments lie in
// memory.
const (
	bufferSize = 256
	buffersAt  = 1 << 16
)

// code makes the call and traps where it does not do what it should. What it does is in the log
// then.
func (c hostCall) code(g *asm.Guest, free *int) []byte {
	s := abi.Imports[slices.IndexFunc(abi.Imports, func(s abi.Signature) bool { return s.Name == c.Call })]
	var code []byte
	last, before := -1, ""
	for _, a := range c.Args {
		if n, ok := a.(float64); ok {
			code = append(code, asm.I32(int(n))...)
			continue
		}
		last, before = *free, a.(string)
		g.Put(last, before)
		code = append(code, asm.I32(last)...)
		*free += bufferSize
	}
	code = append(code, g.Call(c.Call)...)
	switch {
	case c.Bits != "":
		bits, err := strconv.ParseUint(c.Bits, 16, 64)
		if err != nil {
			panic(err)
		}
		code = slices.Concat(code, asm.I64(int64(bits)), asm.Equal64, asm.EqualZero, asm.When(asm.Unreachable))
	case len(s.Results) > 0 && s.Results[0] == "f32": // NaN is not itself; nothing else is an answer of open
		code = slices.Concat(code, asm.F32(float32(math.Inf(1))), asm.AtMostF32, asm.When(asm.Unreachable))
	case len(s.Results) > 0 && s.Results[0] == "i64":
		code = slices.Concat(code, asm.I64(c.Answer), asm.Equal64, asm.EqualZero, asm.When(asm.Unreachable))
	case len(s.Results) > 0:
		code = slices.Concat(code, asm.I32(int(c.Answer)), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
	}
	if last < 0 {
		return code
	}
	after := make([]byte, bufferSize)
	copy(after, before)
	for i, b := range c.Wrote {
		after[i] = byte(b)
	}
	g.Put(*free, string(after))
	word := func(at int) []byte {
		return slices.Concat(asm.I32(at), asm.Local(1), asm.I32(4), asm.Multiply, asm.Add, asm.Load)
	}
	code = append(code, asm.Each(1, asm.I32(bufferSize/4), word(last), word(*free), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))...)
	*free += bufferSize
	return code
}

// guest is a plugin that makes calls in an export.
func guest(export string, calls []hostCall) []byte {
	g := asm.New(`{"name":"guest"}`)
	free := buffersAt
	var code [][]byte
	for n, c := range calls {
		about := fmt.Sprintf("call %d, %s%v", n+1, c.Call, c.Args)
		g.Put(free, about)
		code = append(code, asm.I32(abi.LogInfo), asm.I32(free), asm.I32(len(about)), g.Call(abi.ImportLog))
		free += bufferSize
		code = append(code, c.code(g, &free))
	}
	g.Pages = uint32(free>>16) + 1
	return g.On(export, append(code, asm.I32(0))...).Wasm()
}

func (h *hostCalls) Size() int                 { return len(h.Request.Pieces) }
func (h *hostCalls) Piece(t int32) string      { return h.Request.Pieces[t] }
func (h *hostCalls) Attributes(t int32) uint32 { return h.Request.Attributes[t] }
func (h *hostCalls) Special(kind int32) int32 {
	if t, ok := h.Request.Special[kind]; ok {
		return t
	}
	return -1
}

// Tokenize takes the longest piece, again and again.
func (h *hostCalls) Tokenize(text string, _, _ bool) (tokens []int32, _ error) {
	for text != "" {
		best := 0
		for t, piece := range h.Request.Pieces {
			if strings.HasPrefix(text, piece) && len(piece) > len(h.Request.Pieces[best]) {
				best = t
			}
		}
		if h.Request.Pieces[best] == "" {
			return nil, errors.New("no piece begins the text")
		}
		tokens, text = append(tokens, int32(best)), text[len(h.Request.Pieces[best]):]
	}
	return tokens, nil
}

// TestHost_Answers_AreTheGoStubs makes the calls that the Go SDK's stub of the host answers the
// same way.
func TestHost_Answers_AreTheGoStubs(t *testing.T) {
	script := must.Get(os.ReadFile(filepath.Join("..", "..", "..", "plugins", "abi", "testdata", "hostcalls.json")))(t)
	h := &hostCalls{}
	must.Do(t, json.Unmarshal(script, h))
	for _, s := range abi.Imports {
		made := func(c hostCall) bool { return c.Call == s.Name }
		// Elsewhere the others are a fault, and a stub need not have what was added later.
		if here := s.In == nil || slices.Contains(s.In, abi.ExportTemplate); here && !s.Added && !slices.ContainsFunc(h.Open, made) && !slices.ContainsFunc(h.Template, made) {
			t.Errorf("nothing calls %s", s.Name)
		}
	}
	limits := plugin.DefaultLimits()
	limits.Compile, limits.HookTime, limits.SetupTime, limits.LoadTime = time.Hour, time.Hour, time.Hour, time.Hour // machines under load
	var model plugin.Model
	must.Do(t, json.Unmarshal([]byte(h.Request.Model), &model))
	l := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: h, Model: model}, Limits: limits})
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	making := func(export string, calls []hostCall) *load.Plugin {
		p := must.Get(l.Load(context.Background(), guest(export, calls)))(t)
		t.Cleanup(p.Release)
		return p
	}
	q := plugin.RequestInfo{Config: []byte(h.Request.Config), Media: []byte(h.Request.Media), Seed: h.Request.Seed, MaxTokens: h.Request.MaxTokens, ContextSize: h.Request.ContextSize,
		Time: time.UnixMilli(h.Request.Time), Choice: h.Request.Choice, Choices: h.Request.Choices}
	q.Sampling = func() []byte { return []byte(h.Request.Sampling) }
	s := must.Get(stage.New(making(abi.ExportOpen, h.Open), q))(t)
	if err := errors.Join(s.Reset(h.Request.Prompt, len(h.Request.Prompt)), s.Close()); err != nil {
		t.Error(err)
	}
	text, err := stage.Render(context.Background(), making(abi.ExportTemplate, h.Template), []byte(h.Request.Messages), q)
	if err != nil || text != "a prompt" {
		t.Errorf("%q, %v", text, err)
	}
}
