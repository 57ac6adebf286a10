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

// mention matches a path in backticks: words with slashes between them, the first without a dot,
// which would be a web address.
var mention = regexp.MustCompile("`([\\w-]+(?:/[\\w.@-]+)+/?)`")

// mentionOfMethod matches `Type.method` in `file.go`.
var mentionOfMethod = regexp.MustCompile("`(\\w+)\\.(\\w+)` in `([\\w/.-]+\\.go)`")

// made lists what building makes, and what the README has its reader make.
var made = []string{"plugins/examples/underdog/", "bin/", "build/", "web/dist/", "web/node_modules/", "host/api/clients/node_modules/", "native/zz_stamp.go/"}

// link matches a Markdown link to a file.
var link = regexp.MustCompile(`\]\(([\w./-]+)(?:#[\w-]*)?\)`)

// checkMentions finds what a document mentions and the repository does not have: in all documents
// links to files, in README.md and in docs (not below it) also paths, and methods that are not in
// the file where they are said to be.
func checkMentions(f file) ([]string, error) {
	if filepath.Ext(f.path) != ".md" {
		return nil, nil
	}
	byPath := f.path == "README.md" || filepath.Dir(f.path) == "docs"
	var findings []string
	for i, line := range bytes.Split(f.text, []byte("\n")) {
		missing := missingLinks(filepath.Dir(f.path), line)
		if byPath {
			missing = append(append(missing, missingPaths(line)...), missingMethods(line)...)
		}
		for _, what := range missing {
			findings = append(findings, fmt.Sprintf("%s:%d: there is no %s", f.path, i+1, what))
		}
	}
	return findings, nil
}

func missingLinks(folder string, line []byte) (missing []string) {
	for _, found := range link.FindAllSubmatch(line, -1) {
		if target := filepath.Join(folder, string(found[1])); !exists(target) {
			missing = append(missing, target)
		}
	}
	return missing
}

func missingPaths(line []byte) (missing []string) {
	for _, found := range mention.FindAllSubmatch(line, -1) {
		path := strings.TrimSuffix(strings.TrimSuffix(string(found[1]), "/"), "/...")
		if !isMade(path) && !exists(path) {
			missing = append(missing, path)
		}
	}
	return missing
}

func missingMethods(line []byte) (missing []string) {
	for _, found := range mentionOfMethod.FindAllSubmatch(line, -1) {
		text, _ := os.ReadFile(string(found[3])) // a missing file is one of the missing paths
		method := regexp.MustCompile(fmt.Sprintf(`\(\w+ \*?%s(\[\w+\])?\) %s[(\[]`, found[1], found[2]))
		if !method.Match(text) {
			missing = append(missing, fmt.Sprintf("%s.%s in %s", found[1], found[2], found[3]))
		}
	}
	return missing
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isMade(path string) bool {
	for _, entry := range made {
		if strings.HasPrefix(path+"/", entry) {
			return true
		}
	}
	return false
}
