// SPDX-License-Identifier: MIT

package config

import (
	"slices"
	"strings"
)

const prefix = "PENSTOCK_"

// Variable is the name of the environment variable of a key.
func (k Key) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// readEnvironment matches variables against the table, because "_" may stand for a dot or for
// itself. An empty variable counts as absent, since many tools cannot unset one, but for a key
// that protects the server.
func (l *loader) readEnvironment(environ []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || ignored(name) {
			continue
		}
		i := slices.IndexFunc(table, func(k Key) bool { return k.Variable() == name })
		switch {
		case value == "" && (i < 0 || !table[i].Protects):
		case i < 0:
			l.problems = append(l.problems, unknown(name, value, "environment"))
		default:
			l.set(table[i].Name, value, "environment "+name)
		}
	}
}

// ignored tells which variables are for tests, for the child process that tries models or for
// package native, and not for the configuration.
func ignored(name string) bool {
	return strings.HasPrefix(name, prefix+"TEST_") || name == prefix+"PROBE" || name == prefix+"CPU_LEVEL"
}
