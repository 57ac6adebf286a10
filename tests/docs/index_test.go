// SPDX-License-Identifier: MIT

package docs

import (
	"path/filepath"
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

// What users ask most is two clicks away: README.md leads to the list, and each question of it to
// its answer. tools/check finds links that lead nowhere.
func TestQuestions_AreTwoClicksAway(t *testing.T) {
	if !strings.Contains(read(t, "README.md"), "](docs/questions.md)") {
		t.Error("README.md does not lead to docs/questions.md")
	}
	questions := strings.Split(read(t, "docs/questions.md"), "\n* ")[1:]
	if len(questions) < 30 {
		t.Errorf("there are %d questions, less than 30", len(questions))
	}
	for _, question := range questions {
		if !strings.HasPrefix(question, "[") || !strings.Contains(question, "?](") {
			t.Errorf("a question is no link: %q", question)
		}
	}
}

// docs/plugins/ready.md has every plugin of plugins/examples.
func TestReady_ListsEveryExample(t *testing.T) {
	list := read(t, "docs/plugins/ready.md")
	readmes, err := filepath.Glob(filepath.Join("..", "..", "plugins", "examples", "*", "README.md"))
	if err != nil || len(readmes) < 25 {
		t.Fatalf("there are %d examples; %v", len(readmes), err)
	}
	for _, readme := range readmes {
		if name := filepath.Base(filepath.Dir(readme)); !strings.Contains(list, "](../../plugins/examples/"+name+")") {
			t.Errorf("docs/plugins/ready.md does not list %s", name)
		}
	}
}

// The README's best-of-n is that of the example.
func TestReadme_ShowsTheExample(t *testing.T) {
	_, code, found := strings.Cut(read(t, "plugins/examples/best-of/main.go"), "// Run implements")
	if !found || !strings.Contains(read(t, "README.md"), code) {
		t.Error("README.md has another best-of-n than plugins/examples/best-of/main.go")
	}
}
