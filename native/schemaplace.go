// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"fmt"
	"strings"
)

// place is where in a schema a node stands; nil is the root.
type place struct {
	within *place
	key    string
}

func (p *place) at(key string) *place { return &place{p, key} }

// String is a JSON pointer as a fragment, such as #/properties/name.
func (p *place) String() string {
	if p == nil {
		return "#"
	}
	return p.within.String() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p.key)
}

// placeOf is where a reference of llama.cpp's kind leads, such as #/$defs/name.
func placeOf(ref string) *place {
	var p *place
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		p = p.at(key)
	}
	return p
}

// maxSchemaCount is how often llama.cpp's grammars repeat a rule at most.
const maxSchemaCount = 2000

// bounds refuses what would become a repetition or a range that no grammar can have. llama.cpp does not look at it, and the
// grammar could not say where it comes from.
func (o *conversionCost) bounds(schema map[string]any, here *place) error {
	for _, other := range []string{"const", "enum", "oneOf", "anyOf", "pattern"} {
		if _, ok := schema[other]; ok {
			return nil // llama.cpp looks at nothing else
		}
	}
	kind, typed := schema["type"].(string)
	for _, b := range []struct{ kind, least, most string }{{"string", "minLength", "maxLength"}, {"array", "minItems", "maxItems"}} {
		if typed && kind != b.kind {
			continue
		}
		least, _ := count(schema[b.least])
		most, limited := count(schema[b.most])
		for name, n := range map[string]float64{b.least: least, b.most: most} {
			if n > maxSchemaCount {
				return fmt.Errorf("has at %v a %s of %.0f; at most %d is taken", here, name, n, maxSchemaCount)
			}
		}
		if limited && most < least {
			return fmt.Errorf("has at %v a %s of %.0f, below its %s of %.0f", here, b.most, most, b.least, least)
		}
	}
	least, fromBelow := count(schema["minimum"])
	most, fromAbove := count(schema["maximum"])
	if kind == "integer" && fromBelow && fromAbove && most < least {
		return fmt.Errorf("has at %v a maximum of %v, below its minimum of %v", here, schema["maximum"], schema["minimum"])
	}
	return nil
}

func count(v any) (n float64, ok bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := number.Float64()
	return n, err == nil
}

// placed gives llama.cpp's reason for refusing a schema in fewer words, and says where a pattern stands that it refuses.
func (o *conversionCost) placed(reason string) string {
	reason = strings.TrimPrefix(reason, "JSON schema conversion failed:\n")
	reason = strings.TrimPrefix(reason, "JSON schema error ")
	for pattern, at := range o.patternAt {
		if strings.HasPrefix(reason, "Invalid pattern "+pattern+": ") {
			return fmt.Sprintf("at %v: %s", at, reason)
		}
	}
	return reason
}
