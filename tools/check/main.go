// SPDX-License-Identifier: MIT

// Command check holds the repository to its own rules, those a linter does not know: sizes of files and functions, who
// may import whom, no paths of one machine, a licence line in every source file. It prints what breaks them, one finding
// a line, and exits 1 where there is any. Run it from the repository's root.
package main

import (
	"fmt"
	"os"
)

// rules lists what is checked, in the order findings are printed.
var rules = []struct {
	name  string
	check func() ([]string, error)
}{
	{"size", overFiles(checkSize)},
	{"licence", overFiles(checkLicence)},
	{"machine path", overFiles(checkPaths)},
	{"import", checkImports},
}

func main() {
	found := 0
	for _, rule := range rules {
		findings, err := rule.check()
		if err != nil {
			fmt.Fprintf(os.Stderr, "check: %s: %v\n", rule.name, err)
			os.Exit(2)
		}
		for _, finding := range findings {
			fmt.Printf("%s: %s\n", rule.name, finding)
		}
		found += len(findings)
	}
	if found > 0 {
		os.Exit(1)
	}
}
