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

// The README's beam search is that of the example.
func TestReadme_ShowsTheExample(t *testing.T) {
	_, search, found := strings.Cut(read(t, "plugins/examples/beam/main.go"), "// hypothesis is")
	if !found || !strings.Contains(read(t, "README.md"), search) {
		t.Error("README.md has another beam search than plugins/examples/beam/main.go")
	}
}
