// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// anchorLink matches a Markdown link to a heading, of the same document or of another.
var anchorLink = regexp.MustCompile(`\]\(([\w./-]*)#([^)\s]+)\)`)

// imageFile matches the file of an HTML element of pictures.
var imageFile = regexp.MustCompile(`(?:src|srcset)="([^":\s]+)"`)

// checkLinks finds links to headings and pictures that are not there, in all documents.
func checkLinks(f file) ([]string, error) {
	if filepath.Ext(f.path) != ".md" {
		return nil, nil
	}
	folder := filepath.Dir(f.path)
	var findings []string
	for i, line := range bytes.Split(f.text, []byte("\n")) {
		for _, found := range anchorLink.FindAllSubmatch(line, -1) {
			text, name := f.text, f.path
			if len(found[1]) > 0 {
				name = filepath.Join(folder, string(found[1]))
				text, _ = os.ReadFile(name) // a missing file is a finding of checkMentions
			}
			if filepath.Ext(name) == ".md" && text != nil && !anchors(string(text))[string(found[2])] {
				findings = append(findings, fmt.Sprintf("%s:%d: %s has no heading #%s", f.path, i+1, name, found[2]))
			}
		}
		for _, found := range imageFile.FindAllSubmatch(line, -1) {
			if name := filepath.Join(folder, string(found[1])); !exists(name) {
				findings = append(findings, fmt.Sprintf("%s:%d: there is no %s", f.path, i+1, name))
			}
		}
	}
	return findings, nil
}

// linkText matches a Markdown link; its first group is what the reader sees.
var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// anchors are the names that GitHub gives to a document's headings: their letters in lower case,
// with hyphens for spaces and without punctuation. A name that is taken gets a number.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		title = linkText.ReplaceAllString(strings.TrimSpace(title), "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		free := name
		for n := 1; names[free]; n++ {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		names[free] = true
	}
	return names
}
