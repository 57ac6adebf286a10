// SPDX-License-Identifier: MIT

package gbnf

import (
	"fmt"
	"github.com/penstock/penstock/host/grammar"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A verdict is what llama.cpp's grammars say of a text. testdata has them as lines:
// `accept "text"`, or `reject 12 "text"`, where 12 is how many bytes of the text could be
// followed. The automaton that was here before this package wrote them down; it gave the same as
// llama.cpp's. It refused rules that begin with themselves, and chains of ten thousands of rules;
// those are read here.
type verdict struct {
	text    string
	follows int
	accepts bool
}

func parseVerdict(line string) (v verdict, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	v.accepts = kind == "accept"
	if !v.accepts {
		var n string
		n, rest, _ = strings.Cut(rest, " ")
		if v.follows, err = strconv.Atoi(n); kind != "reject" || err != nil {
			return v, fmt.Errorf("%q is no verdict: %w", line, err)
		}
	}
	if v.text, err = strconv.Unquote(rest); err != nil {
		return v, fmt.Errorf("%q is no verdict: %w", line, err)
	}
	if v.accepts {
		v.follows = len(v.text)
	}
	return v, nil
}

// judge compares the verdicts on a grammar's texts with ours. It returns how many texts were
// accepted and rejected.
func judge(t *testing.T, text string, lines []string) (accepted, rejected int) {
	t.Helper()
	g, err := Parse(grammar.NewBuilder(), text, "", tokens())
	if err != nil {
		t.Fatalf("%s\nis refused: %v", text, err)
	}
	for _, line := range lines {
		want, err := parseVerdict(line)
		if err != nil {
			t.Fatal(err)
		}
		got, s := verdict{text: want.text}, g.Start()
		for got.follows < len(want.text) {
			to, fits, err := g.Advance(s, []byte{want.text[got.follows]})
			if err != nil {
				t.Fatal(err)
			}
			if !fits {
				break
			}
			s = to
			got.follows++
		}
		got.accepts = got.follows == len(want.text) && g.Complete(s)
		if got != want {
			t.Errorf("%s\n%q: got %+v, want %+v", text, want.text, got, want)
		}
		if want.accepts {
			accepted++
		} else {
			rejected++
		}
	}
	return accepted, rejected
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The grammar files of llama-server accept and reject the same texts as there.
func TestParse_ServerGrammars(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "build", "llama.cpp", "source-*", "grammars", "*.gbnf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("llama.cpp's source is not there (%v): run `make llama` first", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gbnf")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			accepted, rejected := judge(t, string(text), readLines(t, filepath.Join("testdata", "llama-server", name+".txt")))
			if accepted < 20 || rejected < 20 {
				t.Errorf("%d texts to accept, %d to reject: too few", accepted, rejected)
			}
		})
	}
}

// Random grammars accept and reject the same texts as with llama.cpp.
func TestParse_RandomGrammars(t *testing.T) {
	lines := readLines(t, filepath.Join("testdata", "random.txt"))
	for len(lines) > 0 {
		quoted, ok := strings.CutPrefix(lines[0], "grammar ")
		text, err := strconv.Unquote(quoted)
		if !ok || err != nil {
			t.Fatalf("%q is no grammar: %v", lines[0], err)
		}
		n := 1
		for n < len(lines) && !strings.HasPrefix(lines[n], "grammar ") {
			n++
		}
		if accepted, _ := judge(t, text, lines[1:n]); accepted < 3 {
			t.Errorf("%s\n%d texts to accept: too few", text, accepted)
		}
		lines = lines[n:]
	}
}
