// SPDX-License-Identifier: MIT

package config

import (
	"encoding"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"github.com/spf13/pflag"
)

// What texts stand for, and texts that stand for nothing.
func TestUnmarshalText(t *testing.T) {
	for name, c := range map[string]struct {
		value encoding.TextUnmarshaler
		reads map[string]string
		no    []string
	}{
		"a scale": {new(Scaled), map[string]string{"a.gguf:0.5": "&{a.gguf 0.5}", "/b/c.gguf:-1": "&{/b/c.gguf -1}", "C:/d.gguf:2": "&{C:/d.gguf 2}"},
			[]string{"", "a.gguf", ":1", "a.gguf:", "a.gguf:x", "a.gguf:NaN", "a.gguf:inf", "a.gguf:1e99"}},
		"layers": {new(Layers), map[string]string{"": "&{0 0}", "1,4": "&{1 4}", "2, 2": "&{2 2}"},
			[]string{"1", "0,3", "3,2", "a,b", "1,2,3", "-1,2"}},
		"shares": {new(Shares), map[string]string{"": "&[]", "3,1": "&[3 1]", "0/2.5": "&[0 2.5]"},
			[]string{"0", "0,0", "a", "-1,2", "NaN", "inf"}},
		"a tensor override": {new(TensorOverride), map[string]string{"ffn_up=CPU": "&{ffn_up CPU}", "a=b=c": "&{a b=c}"},
			[]string{"", "a", "=CPU", "a="}},
		"a metadata override": {new(MetadataOverride), map[string]string{"a=int:1": "&{a int 1}", "a.b=str:x=y:z": "&{a.b str x=y:z}", "a=bool:true": "&{a bool true}"},
			[]string{"", "a", "a=1", "a=int:x", "a=bool:1", "a=float:", "=int:1", "a=list:1"}},
		"a network": {new(Network), map[string]string{"10.1.2.3": "10.1.2.3/32", "10.1.2.3/8": "10.0.0.0/8", "::ffff:10.1.2.3": "10.1.2.3/32", "fd00::1/16": "fd00::/16"},
			[]string{"", "10.0.0", "10.0.0.0/33", "host"}},
		"an object": {new(Object), map[string]string{"": "&map[]", `{"a":1}`: "&map[a:[49]]"},
			[]string{"null", "[]", "1", "{", `{"a":1}{}`}},
	} {
		for text, want := range c.reads {
			err := c.value.UnmarshalText([]byte(text))
			if got := fmt.Sprint(c.value); got != want || err != nil {
				t.Errorf("%s: %q is %s, %v; want %s", name, text, got, err, want)
			}
		}
		for _, text := range c.no {
			if err := c.value.UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%s: %q is taken as %v", name, text, c.value)
			}
		}
	}
}

// TestLoad_Listens: an address is what it says, or the start fails. None becomes all addresses of
// the machine by not being understood.
func TestLoad_Listens(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string // empty: refused
	}{
		{nil, "127.0.0.1:8080"},
		{[]string{"--host", "[::1]"}, "[::1]:8080"},
		{[]string{"--host", "[::1]", "--port", "9"}, "[::1]:9"},
		{[]string{"--host", "::1", "--port", "9"}, "[::1]:9"},
		{[]string{"--host", "fe80::1%lo", "--port", "9"}, "[fe80::1%lo]:9"},
		{[]string{"--host", "[fe80::1%lo]"}, "[fe80::1%lo]:8080"},
		{[]string{"--host", "::", "--port", "9"}, "[::]:9"},
		{[]string{"--host", "", "--port", "9"}, "127.0.0.1:9"},
		{[]string{"--host", "my-host_1.example"}, "my-host_1.example:8080"},
		{[]string{"--host", "a", "--host", "a"}, "a:8080"},
		{[]string{"--listen", ":9"}, ":9"},
		{[]string{"--listen", "[::1]:9", "--host", "10.0.0.1"}, "10.0.0.1:9"},
		{[]string{"--listen", "/run/p.sock", "--port", "9"}, "/run/p.sock"},
		{[]string{"--listen", "/run/p.sock", "--host", "127.0.0.1"}, "127.0.0.1:8080"},
		{[]string{"--listen", "/run/p.sock", "--host", "127.0.0.1", "--port", "9"}, "127.0.0.1:9"},
		{[]string{"--host", "/run/p.sock", "--port", "9"}, "/run/p.sock"},

		{[]string{"--host", "127.0.0.1", "--host", "::1"}, ""},
		{[]string{"--listen", "127.0.0.1:9", "--listen", "[::1]:9"}, ""},
		{[]string{"--host", "127.0.0.1,::1"}, ""},
		{[]string{"--host", "127.0.0.1:9"}, ""},
		{[]string{"--host", "[::1]:9"}, ""},
		{[]string{"--host", "[]", "--port", "9"}, ""},
		{[]string{"--host", "[::1", "--port", "9"}, ""},
		{[]string{"--host", "[127.0.0.1]", "--port", "9"}, ""},
		{[]string{"--host", "@p.sock"}, ""},
		{[]string{"--listen", "@p.sock"}, ""},
		{[]string{"--listen", "[]:9"}, ""},
		{[]string{"--listen", "[[::1]]:9"}, ""},
		{[]string{"--listen", "[::1]", "--port", "9"}, ""},
		{[]string{"--listen", "::1", "--port", "9"}, ""},
		{[]string{"--listen", "*:9"}, ""},
		{[]string{"--listen", "a b:9"}, ""},
	} {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddFlags(fs)
		err := fs.Parse(tc.args)
		var c Config
		if err == nil {
			c, err = Load(Sources{Flags: FlagValues(fs)})
		}
		if (err != nil) != (tc.want == "") || err == nil && c.Server.Listen.String() != tc.want {
			t.Errorf("%q listens on %q, %v; want %q", tc.args, c.Server.Listen, err, tc.want)
		}
		if err != nil && !strings.Contains(err.Error(), "host") && !strings.Contains(err.Error(), "listen") {
			t.Errorf("%q: %v names no key", tc.args, err)
		}
	}
	c, err := Load(Sources{Environ: []string{"PENSTOCK_SERVER_HOST=[::1]", "PENSTOCK_SERVER_PORT=9"}})
	if err != nil || c.Server.Listen.String() != "[::1]:9" || len(c.Risks()) > 0 {
		t.Errorf("variables: %q, %v", c.Server.Listen, err)
	}
	if _, err := Load(Sources{File: write(t, "server: {listen: '[::1]', port: 9}\n")}); !errors.Is(err, ErrWrongValue) {
		t.Errorf("file: %v", err)
	}
}

// FuzzParseAddress: only what says so stands for all addresses, and what is read is written again.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{":1", "[::]:1", "0.0.0.0:1", "[::1%lo]:1", "[]:1", "x.sock", "localhost:1", "[::ffff:0.0.0.0]:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if b, err := ParseAddress(a.String()); err != nil || a != b {
			t.Errorf("%q is %+v, and then %+v, %v", text, a, b, err)
		}
		if a.All() && !strings.HasPrefix(text, ":") && !strings.Contains(text, "0") && !strings.Contains(text, "::") {
			t.Errorf("%q is open to all", text)
		}
		if a.All() && a.Loopback() {
			t.Errorf("%q is both", text)
		}
	})
}

func TestAddress_CheckOpened(t *testing.T) {
	for _, tc := range []struct {
		asked, got string
		ok         bool
	}{
		{":1", "[::]:1", true}, {"0.0.0.0:1", "0.0.0.0:1", true}, {"[::]:1", "[::]:1", true}, {"a:1", "10.0.0.1:1", true},
		{"localhost:1", "[::1]:1", true}, {"127.0.0.1:1", "127.0.0.1:1", true}, {"[::ffff:127.0.0.1]:1", "127.0.0.1:1", true},
		{"a:1", "0.0.0.0:1", false}, {"127.0.0.1:1", "[::]:1", false}, {"localhost:1", "10.0.0.1:1", false},
	} {
		a := must.Get(ParseAddress(tc.asked))(t)
		got := must.Get(net.ResolveTCPAddr("tcp", tc.got))(t)
		if err := a.CheckOpened(got); (err == nil) != tc.ok {
			t.Errorf("%s that is %s: %v", tc.asked, tc.got, err)
		}
	}
	for text, want := range map[string]string{"0.0.0.0:1": "tcp4", "[::]:1": "tcp", ":1": "tcp", "a:1": "tcp", "a.sock": "unix"} {
		if a, err := ParseAddress(text); err != nil || a.Network() != want {
			t.Errorf("%s: %s, %v", text, a.Network(), err)
		}
	}
}
