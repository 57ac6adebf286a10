// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"encoding/json"
)

// WithoutTypeLists is tools, which are JSON, whose schemas say the same without lists of types: as
// anyOf.
func WithoutTypeLists(tools json.RawMessage) json.RawMessage {
	type level struct {
		object bool
		read   int // names and values
	}
	d := json.NewDecoder(bytes.NewReader(tools))
	d.UseNumber()
	var out []byte
	within := []level{{}}
	for {
		token, err := d.Token()
		if err != nil { // the end
			return out
		}
		end, _ := token.(json.Delim)
		if end == '}' || end == ']' {
			out, within = append(out, byte(end)), within[:len(within)-1]
			continue
		}
		at := &within[len(within)-1]
		isName := at.object && at.read%2 == 0
		switch {
		case at.object && !isName:
			out = append(out, ':')
		case at.read > 0:
			out = append(out, ',')
		}
		at.read++
		switch {
		case end != 0:
			out, within = append(out, byte(end)), append(within, level{object: end == '{'})
		case isName && token == "type":
			var value json.RawMessage
			_ = d.Decode(&value)
			out = append(out, typeMember(value)...)
			at.read++
		default:
			text, _ := json.Marshal(token)
			out = append(out, text...)
		}
	}
}

// typeMember is a member with the name type. If its value is a list of types it is written as
// alternatives.
func typeMember(value json.RawMessage) []byte {
	var types []string
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &types) != nil || len(types) == 0 {
		return append([]byte(`"type":`), WithoutTypeLists(value)...)
	}
	alternatives := make([]map[string]string, len(types))
	for i, t := range types {
		alternatives[i] = map[string]string{"type": t}
	}
	text, _ := json.Marshal(alternatives)
	return append([]byte(`"anyOf":`), text...)
}
