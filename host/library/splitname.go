// SPDX-License-Identifier: MIT

package library

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const ending = ".gguf"

// A model in several files is named after the first: NAME-00001-of-00003.gguf.
var part = regexp.MustCompile(`-(\d{5})-of-(\d{5})$`)

// FileName is what the name of a model's file says.
type FileName struct {
	Model       string // without .gguf and the number of the part
	Part, Parts int    // 1 of 1 for a model in one file
}

// SplitName takes the name or path of a file apart; ok is false if it does not end in .gguf.
func SplitName(file string) (n FileName, ok bool) {
	stem, ok := strings.CutSuffix(file, ending)
	if !ok || stem == "" {
		return FileName{}, false
	}
	m := part.FindStringSubmatch(stem)
	if m == nil {
		return FileName{stem, 1, 1}, true
	}
	n = FileName{Model: strings.TrimSuffix(stem, m[0])}
	n.Part, _ = strconv.Atoi(m[1]) // five digits
	n.Parts, _ = strconv.Atoi(m[2])
	if n.Model == "" || n.Part < 1 || n.Part > n.Parts {
		return FileName{stem, 1, 1}, true
	}
	return n, true
}

// String is the file's name.
func (n FileName) String() string {
	if n.Parts == 1 {
		return n.Model + ending
	}
	return fmt.Sprintf("%s-%05d-of-%05d%s", n.Model, n.Part, n.Parts, ending)
}

// All are the names of all files of the model.
func (n FileName) All() []string {
	names := make([]string, n.Parts)
	for i := range names {
		names[i] = FileName{n.Model, i + 1, n.Parts}.String()
	}
	return names
}
