// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	architecture = "docs/architecture.md"
	roomsHead    = "| package | what it is for | may import |"
	maxSentence  = 160 // characters
)

// room is a row of the table of packages in docs/architecture.md.
type room struct {
	line    int // in the document, from 0
	name    string
	purpose string
	may     string
}

// checkRooms compares the table of packages with the code: which packages there are, what each
// says it is for and what it imports.
func checkRooms() ([]string, error) {
	packages, err := goPackages()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(architecture)
	if err != nil {
		return nil, err
	}
	rooms, err := parseRooms(string(text))
	if err != nil {
		return nil, err
	}
	return append(compareRooms(rooms, packages), checkPicture(string(text), rooms)...), nil
}

// cell is what stands between the lines of a drawing.
var cell = regexp.MustCompile(`[^\x{2500}-\x{25FF}\n]+`)

// checkPicture looks for each package in the document's first drawing. A package stands there with
// its path, or with a slash and the last part of its path in the box of its folder, below it.
func checkPicture(text string, rooms []room) (findings []string) {
	_, text, _ = strings.Cut(text, "\n```\n")
	drawing, _, _ := strings.Cut(text, "\n```\n")
	drawn, folders := map[string]bool{}, map[int]string{} // the folder above, by the column of its box
	is := func(name string) bool { return slices.ContainsFunc(rooms, func(r room) bool { return r.name == name }) }
	holds := func(folder string) bool {
		return slices.ContainsFunc(rooms, func(r room) bool { return strings.HasPrefix(r.name+"/", folder+"/") })
	}
	for line := range strings.Lines(drawing) {
		for _, at := range cell.FindAllStringIndex(line, -1) {
			column, text := utf8.RuneCountInString(line[:at[0]]), line[at[0]:at[1]]
			for i, word := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
				switch {
				case word[0] != '/' && i == 0 && holds(word) && strings.Index(text, word) <= 3: // farther right is prose
					folders[column] = word
				case word[0] == '/' && !is(folders[column]+word):
					findings = append(findings, fmt.Sprintf("%s: the picture has %s in the box of %s, which has no such package", architecture, word, folders[column]))
				case word[0] == '/':
					word = folders[column] + word
				}
				drawn[word] = true
			}
		}
	}
	for _, r := range rooms {
		if !drawn[r.name] {
			findings = append(findings, architecture+": the picture has no "+r.name)
		}
	}
	return findings
}

// writeRooms writes the sentence of each package into the table.
func writeRooms() error {
	packages, err := goPackages()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(architecture)
	if err != nil {
		return err
	}
	rooms, err := parseRooms(string(text))
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, r := range rooms {
		if i := slices.IndexFunc(packages, func(p goPackage) bool { return p.name() == r.name }); i >= 0 {
			lines[r.line] = fmt.Sprintf("| `%s` | %s | %s |", r.name, purpose(packages[i]), r.may)
		}
	}
	return os.WriteFile(architecture, []byte(strings.Join(lines, "\n")), 0o644)
}

var roomRow = regexp.MustCompile("^\\| `([^`]+)` \\| (.*) \\| (.*) \\|$")

func parseRooms(text string) ([]room, error) {
	lines := strings.Split(text, "\n")
	head := slices.Index(lines, roomsHead)
	if head < 0 {
		return nil, errors.New(architecture + " has no table with the head " + roomsHead)
	}
	var rooms []room
	for i := head + 2; i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
		row := roomRow.FindStringSubmatch(lines[i])
		if row == nil {
			return nil, fmt.Errorf("%s:%d: want | `package` | what it is for | may import |", architecture, i+1)
		}
		rooms = append(rooms, room{i, row[1], row[2], row[3]})
	}
	return rooms, nil
}

func compareRooms(rooms []room, packages []goPackage) []string {
	var findings []string
	without := map[string]room{}
	for _, r := range rooms {
		if _, twice := without[r.name]; twice {
			findings = append(findings, fmt.Sprintf("%s:%d: %s has two rows", architecture, r.line+1, r.name))
		}
		without[r.name] = r
	}
	for _, p := range packages {
		findings = append(findings, checkSentence(p)...)
		r, ok := without[p.name()]
		if !ok {
			findings = append(findings, p.name()+" has no row in the table of "+architecture+": say there what it may import")
			continue
		}
		delete(without, r.name)
		if r.purpose != purpose(p) {
			findings = append(findings, fmt.Sprintf("%s:%d: the package comment of %s says otherwise; run go generate ./tools/check", architecture, r.line+1, r.name))
		}
		findings = append(findings, checkImports(p, parseLimits(r.may))...)
	}
	for _, r := range rooms {
		if _, ok := without[r.name]; ok {
			findings = append(findings, fmt.Sprintf("%s:%d: there is no package %s", architecture, r.line+1, r.name))
		}
	}
	return findings
}

// checkSentence finds package comments that do not begin with one short sentence, "Package x ..."
// or "Command x ...".
func checkSentence(p goPackage) []string {
	switch {
	case p.Doc == "":
		return []string{p.name() + " has no package comment that says what it is for"}
	case purpose(p) == p.Doc:
		return []string{fmt.Sprintf("the package comment of %s must begin with %q", p.name(), opening(p))}
	case !strings.HasSuffix(p.Doc, "."):
		return []string{"the package comment of " + p.name() + " must begin with a sentence, which ends with a full stop"}
	case utf8.RuneCountInString(p.Doc) > maxSentence:
		return []string{fmt.Sprintf("the first sentence of %s has %d characters, more than %d", p.name(), utf8.RuneCountInString(p.Doc), maxSentence)}
	}
	return nil
}

// opening is what the package comment begins with, before it says what the package is for.
func opening(p goPackage) string {
	if p.Name == "main" {
		return "Command " + path.Base(p.ImportPath) + " "
	}
	return "Package " + p.Name + " "
}

// purpose is what the package is for, as the table has it.
func purpose(p goPackage) string {
	sentence, ok := strings.CutPrefix(p.Doc, opening(p))
	if !ok {
		return p.Doc
	}
	return strings.ReplaceAll(strings.TrimSuffix(sentence, "."), "|", "\\|")
}
