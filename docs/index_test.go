// SPDX-License-Identifier: MIT

package docs

import (
	"strings"
	"testing"
)

// docs/README.md leads to every document.
func TestIndex_LinksEveryDocument(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, doc := range documents(t) {
		name, below := strings.CutPrefix(doc, "docs/")
		if below && name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}
