// SPDX-License-Identifier: MIT

package plugintest

import "testing"

func TestWithDefaults(t *testing.T) {
	const schema = `{"properties":{
		"a":{"default":1}, "b":{"type":"string"}, "o":{"properties":{"x":{"default":"<y>"}}},
		"l":{"prefixItems":[{"properties":{"p":{"default":0}}}],"items":{"$ref":"#/$defs/q~1r"}}, "r":{"$ref":"#/$defs/d"},
		"endless":{"$ref":"#"}}, "allOf":[{"properties":{"all":{"default":null}}}],
		"$defs":{"d":{"default":{},"properties":{"in":{"default":2}}},"q/r":{"properties":{"q":{"default":[true]}}}}}`
	for config, want := range map[string]string{
		`{}`:                        `{"a":1,"all":null,"r":{"in":2}}`,
		`{"a":2,"all":3,"r":5}`:     `{"a":2,"all":3,"r":5}`,
		`{"o":{},"r":{"in":7}}`:     `{"a":1,"all":null,"o":{"x":"<y>"},"r":{"in":7}}`,
		`{"l":[{},{},5],"r":0}`:     `{"a":1,"all":null,"l":[{"p":0},{"q":[true]},5],"r":0}`,
		`{"endless":{"a":3,"r":1}}`: `{"a":1,"all":null,"endless":{"a":3,"all":null,"r":1},"r":{"in":2}}`,
		`{`:                         `{`,
	} {
		if got := withDefaults(config, schema); got != want {
			t.Errorf("%s: got %s, want %s", config, got, want)
		}
	}
	if got := withDefaults(`{}`, ""); got != `{}` {
		t.Errorf("without a schema: got %s", got)
	}
}

// TestWithDefaults_Ends has defaults within each other without end.
func TestWithDefaults_Ends(t *testing.T) {
	withDefaults(`{}`, `{"$ref":"#/x","x":{"$ref":"#/x"}}`)
	withDefaults(`{}`, `{"properties":{"a":{"$ref":"#","default":{}}}}`)
}
