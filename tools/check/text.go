// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// file is one file of the repository, with its path relative to the root.
type file struct {
	path string
	text []byte
}

// languages maps the extensions of source files to how their functions are found; nil: the length
// of functions is not checked here.
var languages = map[string]func(file) ([]function, error){
	".go": nil, // golangci-lint checks it (funlen)
	".ts": braceFunctions, ".tsx": braceFunctions, ".mts": braceFunctions, ".js": braceFunctions, ".mjs": braceFunctions,
	".rs": braceFunctions,
	".c":  braceFunctions, ".cc": braceFunctions, ".cpp": braceFunctions, ".h": braceFunctions, ".hpp": braceFunctions,
	".sh": nil, ".py": nil, ".css": nil,
}

// isSource reports whether a file was written by hand in one of our languages.
func (f file) isSource() bool {
	if _, known := languages[filepath.Ext(f.path)]; !known {
		return false
	}
	return !isGenerated(f.path) && !bytes.HasPrefix(f.text, []byte("// Code generated "))
}

// isGenerated tells by its name whether a program wrote a file.
func isGenerated(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "zz_") || strings.Contains(base, ".gen.")
}

// isText is false for images, models and Wasm modules.
func (f file) isText() bool { return !slices.Contains(f.text[:min(len(f.text), 8192)], 0) }

// overFiles turns a check of one file into a check of all files that git tracks or would track.
func overFiles(check func(file) ([]string, error)) func() ([]string, error) {
	return func() ([]string, error) {
		listing, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
		if err != nil {
			return nil, fmt.Errorf("list files: %w", err)
		}
		var findings []string
		for path := range strings.SplitSeq(strings.TrimSuffix(string(listing), "\x00"), "\x00") {
			text, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				continue // removed, and not yet committed
			}
			if err != nil {
				return nil, err
			}
			more, err := check(file{path, text})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			findings = append(findings, more...)
		}
		return findings, nil
	}
}

// machinePath matches absolute paths that exist on one machine only.
var machinePath = regexp.MustCompile(`(?:^|[^\w.}/-])(/(?:work|root|home|tmp)/[\w.][\w./-]*)`)

// conflictMark matches what git writes around the two sides of a conflict.
var conflictMark = regexp.MustCompile(`^(?:<{7}|>{7}) `)

// lockAddress matches the download addresses npm writes into a lock file; the integrity hashes
// suffice without them.
var lockAddress = regexp.MustCompile(`"resolved":\s*"http`)

// checkLines looks for lines that no text of ours may have.
func checkLines(f file) ([]string, error) {
	if !f.isText() {
		return nil, nil
	}
	var findings []string
	for i, line := range bytes.Split(f.text, []byte("\n")) {
		if found := machinePath.FindSubmatch(line); found != nil {
			findings = append(findings, fmt.Sprintf("%s:%d: %s is a path of one machine", f.path, i+1, found[1]))
		}
		if conflictMark.Match(line) {
			findings = append(findings, fmt.Sprintf("%s:%d: a conflict was committed; choose one side", f.path, i+1))
		}
		if lockAddress.Match(line) {
			findings = append(findings, fmt.Sprintf("%s:%d: a download address; lock with npm's omit-lockfile-registry-resolved", f.path, i+1))
		}
	}
	return findings, nil
}

// checkLicence wants the SPDX line among the first two: a script's first line is its interpreter.
func checkLicence(f file) ([]string, error) {
	if !f.isSource() {
		return nil, nil
	}
	first := bytes.SplitN(f.text, []byte("\n"), 3)
	for _, line := range first[:min(2, len(first))] {
		if bytes.Contains(line, []byte("SPDX-License-Identifier: MIT")) {
			return nil, nil
		}
	}
	return []string{f.path + ": no line with SPDX-License-Identifier: MIT at the top"}, nil
}

// The house's limits, in lines.
const (
	maxFile     = 800
	maxFunction = 80
)

// function is where a function stands in its file, in lines from 1, both ends included.
type function struct {
	name        string
	first, last int
}

func (f function) lines() int { return f.last - f.first + 1 }

// tableOfTexts is the first line of those in web/src/language, which have all that the page says.
var tableOfTexts = []byte("\n// The texts of the page in ")

func checkSize(f file) ([]string, error) {
	if !f.isSource() {
		return nil, nil
	}
	var findings []string
	if lines := bytes.Count(f.text, []byte("\n")); lines > maxFile && !bytes.Contains(f.text, tableOfTexts) {
		findings = append(findings, fmt.Sprintf("%s has %d lines, more than %d", f.path, lines, maxFile))
	}
	find := languages[filepath.Ext(f.path)]
	if find == nil {
		return findings, nil
	}
	functions, err := find(f)
	if err != nil {
		return nil, err
	}
	for _, fn := range functions {
		if fn.lines() > maxFunction {
			findings = append(findings, fmt.Sprintf("%s:%d: %s has %d lines, more than %d", f.path, fn.first, fn.name, fn.lines(), maxFunction))
		}
	}
	return findings, nil
}

// maxColumns is the limit for lines of prose and comments, in characters.
const maxColumns = 100

// comments maps the extensions of source files to what a line begins with that is a comment. Lines
// of code with a comment at their end are not checked.
var comments = map[string]*regexp.Regexp{
	".go": slashes, ".rs": slashes,
	".c": slashes, ".cc": slashes, ".cpp": slashes, ".h": slashes, ".hpp": slashes,
	".ts": starred, ".tsx": starred, ".mts": starred, ".js": starred, ".mjs": starred, ".css": starred,
	".sh": hashed, ".py": hashed, ".yaml": hashed, ".yml": hashed, ".cmake": hashed,
}

var (
	slashes = regexp.MustCompile(`^\s*//`)
	starred = regexp.MustCompile(`^\s*(?://|\{?/\*|\*(?:\s|/))`)
	hashed  = regexp.MustCompile(`^\s*#`)

	// oneLine matches what a tool reads only if it is on one line, and lines of code in Go's doc
	// comments.
	oneLine = regexp.MustCompile(`^\s*(?://go:|//nolint|//\t|(?://|\{?/\*|#) ?(?:biome-ignore|shellcheck))`)
	// generatedBy matches the line that marks a generated source file or document.
	generatedBy = regexp.MustCompile(`(?m)^(?:(?://|#) Code generated .* DO NOT EDIT\.|<!-- Generated by .*)$`)
	// address matches an address, with the brackets around it if it is the target of a link.
	address = regexp.MustCompile(`\]\([^)\s]*\)|https?://\S+`)
	// codeSpan matches a line that is one piece of code, and punctuation.
	codeSpan = regexp.MustCompile("^\\s*(?:[*-] )?`[^`]+`[.,:;]?$")

	sectionBegin = regexp.MustCompile(`^<!-- .*(?:writes what follows|written by)\b.*-->$`)
	sectionEnd   = regexp.MustCompile(`^<!-- (?:.* wrote what precedes.*|end of .*) -->$`)
)

// checkColumns finds lines of prose and comments that are too long to read side by side with
// others. Addresses do not count, since they cannot be broken.
func checkColumns(f file) ([]string, error) {
	ext := filepath.Ext(f.path)
	comment := comments[ext]
	switch filepath.Base(f.path) {
	case "Containerfile", "Makefile", "CMakeLists.txt":
		comment = hashed
	}
	if comment == nil && ext != ".md" || isGenerated(f.path) || generatedBy.Match(f.text) {
		return nil, nil
	}
	var findings []string
	var prose proseLines
	for i, line := range strings.Split(string(f.text), "\n") {
		if comment != nil && (!comment.MatchString(line) || oneLine.MatchString(line)) {
			continue
		}
		if comment == nil && !prose.has(line) {
			continue
		}
		if n := utf8.RuneCountInString(address.ReplaceAllString(line, "")); n > maxColumns {
			findings = append(findings, fmt.Sprintf("%s:%d: %d columns, more than %d", f.path, i+1, n, maxColumns))
		}
	}
	return findings, nil
}

// proseLines tells the lines of a Markdown document that are prose from code, tables, HTML and
// generated sections.
type proseLines struct {
	fenced, generated bool
}

// has reports whether the next line is prose.
func (p *proseLines) has(line string) bool {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(trimmed, "```"):
		p.fenced = !p.fenced
	case p.fenced:
	case sectionBegin.MatchString(trimmed):
		p.generated = true
	case sectionEnd.MatchString(trimmed):
		p.generated = false
	case p.generated, strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "<"), codeSpan.MatchString(line):
	default:
		return true
	}
	return false
}

// mention matches a path in backticks: words with slashes between them, the first without a dot,
// which would be a web address.
var mention = regexp.MustCompile("`([\\w-]+(?:/[\\w.@-]+)+/?)`")

// mentionOfMethod matches `Type.method` in `file.go`.
var mentionOfMethod = regexp.MustCompile("`(\\w+)\\.(\\w+)` in `([\\w/.-]+\\.go)`")

// made lists what building makes, and what the README has its reader make.
var made = []string{"plugins/examples/underdog/", "bin/", "build/", "web/dist/", "web/node_modules/", "host/api/clients/node_modules/", "native/zz_stamp.go/"}

// link matches a Markdown link to a file.
var link = regexp.MustCompile(`\]\(([\w./-]+)(?:#[\w-]*)?\)`)

// mentionOfNeighbour matches a file of the folder in a package comment.
var mentionOfNeighbour = regexp.MustCompile(`[\s(]([a-z]\w*\.go)\b`)

// checkMentions finds what a document mentions and the repository does not have: in all documents
// links to files, in README.md and in docs (not below it) also paths, and methods that are not in
// the file where they are said to be. In Go it finds files of which a package comment tells.
func checkMentions(f file) ([]string, error) {
	switch filepath.Ext(f.path) {
	case ".md":
	case ".go":
		return missingNeighbours(f), nil
	default:
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

func missingNeighbours(f file) (findings []string) {
	comment, _, _ := bytes.Cut(f.text, []byte("\npackage "))
	for _, found := range mentionOfNeighbour.FindAllSubmatch(comment, -1) {
		if path := filepath.Join(filepath.Dir(f.path), string(found[1])); !exists(path) {
			findings = append(findings, fmt.Sprintf("%s: there is no %s", f.path, path))
		}
	}
	return findings
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
