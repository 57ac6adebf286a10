// SPDX-License-Identifier: MIT

package config

import (
	"encoding"
	"fmt"
	"testing"
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
