// SPDX-License-Identifier: MIT

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// Each test that docs/security.md names as the proof of a promise exists, and each promise names
// one.
func TestSecurity_PromisesHaveTests(t *testing.T) {
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	must.Do(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "build" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(text, -1) {
			there[string(found[1])] = true
		}
		return err
	}))
	named := regexp.MustCompile("`(Test\\w+)`")
	promises, table := 0, false
	for i, line := range strings.Split(read(t, "docs/security.md"), "\n") {
		tests := named.FindAllStringSubmatch(line, -1)
		for _, test := range tests {
			if !there[test[1]] {
				t.Errorf("docs/security.md:%d: there is no %s", i+1, test[1])
			}
		}
		if table = strings.HasPrefix(line, "|") && (table || strings.Contains(line, "proven by")); table && !strings.Contains(line, "proven by") && !strings.HasPrefix(line, "|---") {
			if promises++; len(tests) == 0 {
				t.Errorf("docs/security.md:%d: a promise without a test: %s", i+1, line)
			}
		}
	}
	if promises < 20 {
		t.Errorf("docs/security.md has %d promises", promises)
	}
}
