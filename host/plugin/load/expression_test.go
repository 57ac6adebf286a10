// SPDX-License-Identifier: MIT

package load_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
)

// What would take minutes to compile, or gigabytes, is refused when the module is loaded.
func TestLoader_BoundsTheSizeOfSchemas(t *testing.T) {
	var patterns, names strings.Builder
	for i := range 100 {
		fmt.Fprintf(&patterns, `{"pattern":"^(.?){1000}%d$"},`, i)
		fmt.Fprintf(&names, `"^(.?){1000}%d$":true,`, i)
	}
	l := hosttest.Open(t, load.New)
	for name, tc := range map[string]struct{ schema, want string }{
		"subschemas":        {`{"anyOf":[` + strings.Repeat("{},", 9_999) + `{}]}`, "10002 values"},
		"patterns":          {`{"allOf":[` + patterns.String() + `true]}`, "100000 instructions"},
		"patternProperties": {`{"patternProperties":{` + names.String() + `"a":true}}`, "100000 instructions"},
		"older patterns":    {`{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[` + patterns.String() + `true]}`, "100000 instructions"},
		"classes":           {`{"pattern":"` + strings.Repeat(`\\pL`, 1000) + `"}`, "100000 instructions"},
		"a long pattern":    {`{"pattern":"` + strings.Repeat("a", 5000) + `"}`, "5000 bytes"},
		"a long number":     {`{"const":` + strings.Repeat("1", 500) + `e-400}`, "longer than 400 bytes"},
	} {
		p, err := l.Load(context.Background(), withSchema(tc.schema).Wasm())
		if err == nil {
			p.Release()
		}
		if !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlugin_CheckConfig_BoundsMatches(t *testing.T) {
	l := hosttest.Open(t, load.New)
	const old = `{"$schema":"http://json-schema.org/draft-07/schema#",`
	many := strings.Repeat(`{"$ref":"#/definitions/a"},`, 40)
	for name, tc := range map[string]struct{ schema, value, want string }{
		"a pattern":         {`{"allOf":[` + many + `true],"definitions":{"a":{"properties":{"p":{"pattern":"(a?){1000}b"}}}}}`, `"` + strings.Repeat("a", 2000) + `"`, "too long"},
		"names":             {`{"allOf":[` + many + `true],"definitions":{"a":{"properties":{"p":{"patternProperties":{"(a?){1000}b":true}}}}}}`, `{"` + strings.Repeat("a", 2000) + `":1}`, "too long"},
		"many formats":      {old + `"allOf":[` + many + `true],"definitions":{"a":{"properties":{"p":{"format":"uri"}}}}}`, `"a:` + strings.Repeat("a", 20_000) + `"`, "too long"},
		"a long expression": {old + `"properties":{"p":{"format":"regex"}}}`, `"` + strings.Repeat("a", 5000) + `"`, "5000 bytes"},
		"no expression":     {old + `"properties":{"p":{"format":"regex"}}}`, `"("`, "regex"},
		"an expression":     {old + `"properties":{"p":{"format":"regex"}}}`, `"(a{1000}){1}` + strings.Repeat("a{1000}", 500) + `"`, ""},
		"a long number":     {`{"properties":{"p":{"minimum":1}}}`, "1." + strings.Repeat("1", 500), "one JSON object"},
		"what is usual":     {`{"properties":{"p":{"pattern":"^[a-z0-9-]{1,63}$"}}}`, `"a-name"`, ""},
	} {
		p := hosttest.Load(t, l, withSchema(tc.schema))
		_, err := p.CheckConfig([]byte(`{"p":` + tc.value + `}`))
		if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, plugin.ErrConfig) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
