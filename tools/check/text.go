// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"regexp"
)

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
