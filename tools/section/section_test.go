// SPDX-License-Identifier: MIT

package section

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

func TestSection_Replace_KeepsTheRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const other, begin, end = "<!-- make x writes what follows: b -->\nb\n<!-- make x wrote what precedes: b -->\n",
		"<!-- make x writes what follows: a -->\n", "<!-- make x wrote what precedes: a -->\n"
	write("# Title\n" + other + begin + "old\n" + end + "the end\n")
	for range 2 { // a second run changes nothing
		must.Do(t, Of("make x", "a").Replace(path, "new\n"))
	}
	got, err := os.ReadFile(path)
	if want := "# Title\n" + other + begin + "new\n" + end + "the end\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if err := Of("make x", "").Replace(path, "x"); err == nil || !strings.Contains(err.Error(), `needs a line "<!-- make x writes what follows -->"`) {
		t.Errorf("without its lines: %v", err)
	}
	write("# Title\n" + end + begin)
	if err := Of("make x", "a").Replace(path, "x"); err == nil || !strings.Contains(err.Error(), "has no section") {
		t.Errorf("lines in the wrong order: %v", err)
	}
	if err := Of("make x", "").Replace("", "x"); err != nil {
		t.Errorf("without a file: %v", err)
	}
}
