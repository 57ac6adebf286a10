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
			if strings.HasPrefix(c.Call, "grammar_") {
				continue // the real host's, which a native test has none of
			}
			if err := c.make(host{s: current}); err != nil {
				t.Error(err)
			}
		}
	}
	asks = asking{func() { all(script.Open) }, func() { all(script.Template) }}
	s := Open[asking](t, Request{q.Config, q.Messages, q.Media, q.Pieces, attributes, q.Special, q.Prompt, q.MaxTokens, q.ContextSize, q.Seed, q.Model, q.Sampling, q.Time, q.Choice, q.Choices, nil})
	if len(s.Logs) != 1 || s.Logs[0] != "a line" || s.refusal != "no reason" || len(s.Outputs) != 1 || s.Outputs[0] != `{"a": 1}` {
		t.Errorf("logged %q, failed with %q, gave %q", s.Logs, s.refusal, s.Outputs)
	}
	if got, err := s.Render(); err != nil || got != "a prompt" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHost_Config_HasDefaults fills in what the schema says, as the host does.
func TestHost_Config_HasDefaults(t *testing.T) {
	penstock.Register[asking](penstock.Manifest{Name: "defaults", ConfigSchema: `{"properties":{
		"a":{"default":1}, "b":{"type":"string"}, "n":{"default":null}, "d":{"default":{},"properties":{"in":{"default":2}}}, "o":{"properties":{"x":{"default":"<y>"}}}}}`})
	for config, want := range map[string]string{
		``:                            `{"a":1,"d":{"in":2},"n":null}`,
		`{"a":2,"n":3,"d":5}`:         `{"a":2,"d":5,"n":3}`,
		`{"o":{},"d":{"in":7},"b":0}`: `{"a":1,"b":0,"d":{"in":7},"n":null,"o":{"x":"<y>"}}`,
	} {
		asks = asking{func() {}, nil}
		s := Open[asking](t, Request{Config: config})
		var got [256]byte
		n := host{s: s}.Config(unsafe.Pointer(&got[0]), 256)
		var value any
		text := string(got[:n])
		if json.Unmarshal(got[:n], &value) == nil {
			again, _ := json.Marshal(value)
			text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(again))
		}
		if text != want {
			t.Errorf("%s: got %s, want %s", config, text, want)
		}
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
