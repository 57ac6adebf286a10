// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// list reads a JSON list.
func list(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	raw = bytes.TrimSpace(raw)
	return items, len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &items) == nil
}

// pieces joins the texts of tokens, with the names of control tokens. What is no character becomes one that stands for it, once for the
// beginning of a character, as in llama-server's JSON.
func pieces(m *completion.Model, tokens []scheduler.Token) string {
	var joined, valid strings.Builder
	for _, t := range tokens {
		joined.WriteString(m.Engine.Piece(t))
	}
	for text := joined.String(); text != ""; {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			for n < min(utf8.UTFMax-1, len(text)) && !utf8.FullRuneInString(text[:n+1]) {
				n++
			}
		}
		valid.WriteRune(r)
		text = text[n:]
	}
	return valid.String()
}
