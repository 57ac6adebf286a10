// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mention matches a path in backticks: words with slashes between them, the first without a dot, which would be a web address.
var mention = regexp.MustCompile("`([\\w-]+(?:/[\\w.@-]+)+/?)`")

// mentionOfMethod matches `Type.method` in `file.go`.
var mentionOfMethod = regexp.MustCompile("`(\\w+)\\.(\\w+)` in `([\\w/.-]+\\.go)`")

// made lists what building makes.
var made = []string{"bin/", "build/", "web/dist/", "web/node_modules/", "native/zz_stamp.go/"}

// checkMentions finds paths in README.md and in the documents of docs (not below it) that do not exist in the repository, and methods
// that are not in the Go file where they are said to be.
func checkMentions(f file) ([]string, error) {
	if f.path != "README.md" && filepath.Dir(f.path) != "docs" {
		return nil, nil
	}
	var findings []string
	for i, line := range bytes.Split(f.text, []byte("\n")) {
		for _, found := range mention.FindAllSubmatch(line, -1) {
			path := strings.TrimSuffix(strings.TrimSuffix(string(found[1]), "/"), "/...")
			if isMade(path) {
				continue
			}
			if _, err := os.Stat(path); err != nil {
				findings = append(findings, fmt.Sprintf("%s:%d: there is no %s", f.path, i+1, path))
			}
		}
		for _, found := range mentionOfMethod.FindAllSubmatch(line, -1) {
			text, _ := os.ReadFile(string(found[3])) // a missing file was found above
			if method := fmt.Sprintf("%s) %s(", found[1], found[2]); !bytes.Contains(text, []byte(method)) {
				findings = append(findings, fmt.Sprintf("%s:%d: %s has no method %s.%s", f.path, i+1, found[3], found[1], found[2]))
			}
		}
	}
	return findings, nil
}

func isMade(path string) bool {
	for _, entry := range made {
		if strings.HasPrefix(path+"/", entry) {
			return true
		}
	}
	return false
}
