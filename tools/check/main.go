// SPDX-License-Identifier: MIT

// Command check checks the rules of this repository that no linter knows.
//
// It looks at the sizes of files and functions, at the width of prose and comments, at what each
// package says it is for and may import (the table in docs/architecture.md), for exported names and
// modules that only tests use, for files and headings that documents mention and that do not exist,
// for paths of one machine, for names that are missing on other systems, and for licence lines. It
// prints one finding a line and exits 1 if there is any.
package main

import (
	"flag"
	"fmt"
	"os"
)

//go:generate go run . -root ../.. -write

// rules lists what is checked, in the order findings are printed.
var rules = []struct {
	name  string
	check func() ([]string, error)
}{
	{"size", overFiles(checkSize)},
	{"columns", overFiles(checkColumns)},
	{"licence", overFiles(checkLicence)},
	{"machine path", overFiles(checkLines)},
	{"mention", overFiles(checkMentions)},
	{"link", overFiles(checkLinks)},
	{"room", checkRooms},
	{"module", checkModules},
	{"export", checkExports},
	{"system", checkSystems},
}

func main() {
	root := flag.String("root", ".", "the repository's root")
	write := flag.Bool("write", false, "write into the table of packages what each is for, and check nothing")
	flag.Parse()
	if err := os.Chdir(*root); err != nil {
		fail(err)
	}
	if *write {
		if err := writeRooms(); err != nil {
			fail(err)
		}
		return
	}
	if !report() {
		os.Exit(1)
	}
}

// report prints all findings and reports whether there are none.
func report() bool {
	found := 0
	for _, rule := range rules {
		findings, err := rule.check()
		if err != nil {
			fail(fmt.Errorf("%s: %w", rule.name, err))
		}
		for _, finding := range findings {
			fmt.Printf("%s: %s\n", rule.name, finding)
		}
		found += len(findings)
	}
	return found == 0
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "check: %v\n", err)
	os.Exit(2)
}
