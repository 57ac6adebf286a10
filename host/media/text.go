// SPDX-License-Identifier: MIT

package media

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/refusal"
)

// Join is the text of a content by its parts, each a text or a [Marker]: as llama.cpp joins them,
// line by line but for the markers, around which there is nothing.
func Join(parts []string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && p != Marker && parts[i-1] != Marker {
			b.WriteByte('\n')
		}
		b.WriteString(p)
	}
	return b.String()
}

// CheckMarkers refuses a prompt in which not each of so many parts has its place.
func CheckMarkers(field, prompt string, parts int) error {
	if n := strings.Count(prompt, Marker); n != parts {
		return refusal.Invalid(field, "%s: the prompt has places for %d pictures and sounds, and there are %d; the text has the server's marker, or the chat template leaves some out",
			field, n, parts)
	}
	return nil
}

// Sources are parts by their base64 or data: URLs, as Ollama and llama-server have them.
func Sources(field string, kind Kind, sources []string) []Part {
	parts := make([]Part, len(sources))
	for i, s := range sources {
		parts[i] = Part{Field: fmt.Sprintf("%s[%d]", field, i), Kind: kind, Source: s, Base64: !strings.HasPrefix(s, FrameScheme)}
	}
	return parts
}
