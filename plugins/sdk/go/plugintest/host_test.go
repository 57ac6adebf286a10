// SPDX-License-Identifier: MIT

package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hostCall is a call of plugins/abi/testdata/hostcalls.json, which says what the fields mean.
type hostCall struct {
	Call   string
	Args   []any
	Answer int64
	Bits   string
	Wrote  []int
}

// make makes the call, and says what is not as it should be.
func (c hostCall) make(h host) error {
	name := strings.ReplaceAll(c.Call, "_", "")
	t := reflect.TypeFor[host]()
	for n := range t.NumMethod() {
		if strings.EqualFold(t.Method(n).Name, name) {
			return c.compare(reflect.ValueOf(h).Method(n))
		}
	}
	return fmt.Errorf("%s is no import", c.Call)
}

func (c hostCall) compare(method reflect.Value) error {
	var args []reflect.Value
	var buffer, want [256]byte // the last one is looked at
	for _, a := range c.Args {
		if n, ok := a.(float64); ok {
			args = append(args, reflect.ValueOf(int32(n)))
			continue
		}
		words := make([]uint32, 256/4) // aligned
		p := (*[256]byte)(unsafe.Pointer(&words[0]))
		copy(p[:], a.(string))
		want = *p
		args = append(args, reflect.ValueOf(unsafe.Pointer(p)))
	}
	results := method.Call(args)
	for _, a := range args {
		if a.Kind() == reflect.UnsafePointer {
			buffer = *(*[256]byte)(a.UnsafePointer())
		}
	}
	for i, b := range c.Wrote {
		want[i] = byte(b)
	}
	answer := c.Answer
	if bits, err := strconv.ParseUint(c.Bits, 16, 64); err == nil {
		answer = int64(bits)
	}
	if len(results) > 0 && results[0].CanFloat() && results[0].Float() != results[0].Float() {
		return nil // the script has NaN only
	}
	if len(results) > 0 && results[0].Int() != answer || !bytes.Equal(buffer[:], want[:]) {
		return fmt.Errorf("%s%v gives %v and %v; want %d and %v", c.Call, c.Args, results, buffer, answer, want)
	}
	return nil
}

// TestHost_Answers_AreTheHosts makes the calls that the real host answers the same way.
func TestHost_Answers_AreTheHosts(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../abi/testdata/hostcalls.json"))
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Request struct {
			Config, Messages string
			Media            string
			Model, Sampling  string
			Pieces           []string
			Attributes       []penstock.Attributes
			Special          map[penstock.Special]penstock.Token
			Prompt           []penstock.Token
			MaxTokens        int `json:"max_tokens"`
			ContextSize      int `json:"context_size"`
			Seed             uint64
			Time             int64
			Choice, Choices  int
		}
		Open, Template []hostCall
	}
	if err := json.Unmarshal(text, &script); err != nil {
		t.Fatal(err)
	}
	q := script.Request
	attributes := map[penstock.Token]penstock.Attributes{}
	for i, a := range q.Attributes {
		attributes[penstock.Token(i)] = a
	}
	all := func(calls []hostCall) {
		if len(calls) == 0 {
			t.Error("there are no calls")
		}
		for _, c := range calls {
			if err := c.make(host{s: current}); err != nil {
				t.Error(err)
			}
		}
	}
	asks = asking{func() { all(script.Open) }, func() { all(script.Template) }}
	s := Open[asking](t, Request{q.Config, q.Messages, q.Media, q.Pieces, attributes, q.Special, q.Prompt, q.MaxTokens, q.ContextSize, q.Seed, q.Model, q.Sampling, q.Time, q.Choice, q.Choices, nil, nil, nil})
	if len(s.Logs) != 1 || s.Logs[0] != "a line" || s.refusal != "no reason" || len(s.Outputs) != 1 || s.Outputs[0] != `{"a": 1}` {
		t.Errorf("logged %q, failed with %q, gave %q", s.Logs, s.refusal, s.Outputs)
	}
	if got, err := s.Render(); err != nil || got != "a prompt" {
		t.Errorf("%q, %v", got, err)
	}
}

// asking is a plugin that asks the host; asks is what.
type asking struct{ open, render func() }

var (
	asks asking
	_    = penstock.Register[asking](penstock.Manifest{Name: "test"})
)

func (*asking) Open(*penstock.Request) error { asks.open(); return nil }

func (*asking) Render([]penstock.Message) (string, error) { asks.render(); return "", nil }
