// SPDX-License-Identifier: MIT

package session

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Text is bytes: in JSON a string, or {"base64": "…"} where they are no UTF-8.
type Text string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(base64Text{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(t))
	}
	var b base64Text
	if err := strict(text, &b); err != nil || b.Base64 == nil {
		return fmt.Errorf("%.60s is no text: a string, or {\"base64\": \"…\"}", text)
	}
	*t = Text(b.Base64)
	return nil
}
