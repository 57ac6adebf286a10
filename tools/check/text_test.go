// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"
)

func TestCheckLines(t *testing.T) {
	for text, found := range map[string]bool{
		"cd /" + "work/main":                  true,
		"x=/" + "root/.cache":                 true,
		"(/" + "home/someone/x)":              true,
		"/usr/local/go/bin":                   false,
		"../work/main":                        false,
		strings.Repeat("<", 7) + " HEAD":      true,
		strings.Repeat(">", 7) + " 1f96d28 x": true,
		"a " + strings.Repeat("<", 7) + " b":  false,
		"a/home/b":                            false,
		`"resolved": ` + `"https://x/y.tgz"`:  true,
		"the model does not work/root itself": false,
	} {
		findings, err := checkLines(file{"a.md", []byte("first\n" + text)})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(findings) == 1; got != found {
			t.Errorf("checkLines(%q) = %v, want a finding: %v", text, findings, found)
		}
		if len(findings) > 0 && !strings.HasPrefix(findings[0], "a.md:2: ") {
			t.Errorf("checkLines(%q) = %v, want line 2", text, findings)
		}
	}
}

func TestCheckLicence(t *testing.T) {
	line := "// SPDX-License-Identifier: MIT\n"
	for name, tc := range map[string]struct {
		path, text string
		ok         bool
	}{
		"first":   {"a.go", line + "package a\n", true},
		"second":  {"a.sh", "#!/bin/sh\n# SPDX-License-Identifier: MIT\n", true},
		"third":   {"a.go", "\n\n" + line, false},
		"absent":  {"a.ts", "", false},
		"no code": {"a.md", "# A\n", true},
	} {
		findings, err := checkLicence(file{tc.path, []byte(tc.text)})
		if err != nil {
			t.Fatal(err)
		}
		if ok := len(findings) == 0; ok != tc.ok {
			t.Errorf("%s: findings %v, want none: %v", name, findings, tc.ok)
		}
	}
}
