// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"encoding/json"
)

// withoutNulls is a tool whose function has no member that is null, such as its description:
// clients mean by it that there is none, and a template would write it out. Parameters that are an
// empty list are none either: PHP writes an empty object so. The other members keep their order.
func withoutNulls(tool json.RawMessage) json.RawMessage {
	var t struct {
		Function map[string]json.RawMessage `json:"function"`
	}
	if json.Unmarshal(tool, &t) != nil {
		return tool
	}
	for name, value := range t.Function {
		if dropNull(name, value) == nil {
			return rewrite(tool, func(name string, value json.RawMessage) json.RawMessage {
				if name == "function" {
					return rewrite(value, dropNull)
				}
				return value
			})
		}
	}
	return tool
}

func dropNull(name string, value json.RawMessage) json.RawMessage {
	if isNull(value) || name == "parameters" && isEmptyList(value) {
		return nil
	}
	return value
}

// rewrite is an object with what change makes of the values of its members; nil: without the
// member.
func rewrite(object json.RawMessage, change func(name string, value json.RawMessage) json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // it was decoded before, like all that follows
	out := []byte{'{'}
	for d.More() {
		var value json.RawMessage
		token, _ := d.Token()
		name, ok := token.(string)
		if !ok || d.Decode(&value) != nil {
			return object
		}
		if value = change(name, value); value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name)
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}')
}

func isEmptyList(raw json.RawMessage) bool {
	var list []json.RawMessage
	return len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) == 0
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }
