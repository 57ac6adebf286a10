// SPDX-License-Identifier: MIT

// Command apidoc writes into docs/api.md and docs/openapi.yaml which fields each route of the API takes, from the structs that bodies
// are decoded into.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/api/wire"
)

//go:generate go run . ../../docs/api.md ../../docs/openapi.yaml

// part is the lines of a file that are generated, between two others.
type part struct{ begin, end, text string }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: apidoc MARKDOWN OPENAPI")
		os.Exit(2)
	}
	matrix := part{"<!-- fields: written by tools/apidoc (make generate) from the structs below host/api -->\n", "<!-- end of fields -->\n", sections()}
	bodies := part{"    # bodies: written by tools/apidoc (make generate) from the structs below host/api\n", "    # end of bodies\n", bodySchemas()}
	if err := errors.Join(matrix.rewrite(os.Args[1]), bodies.rewrite(os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

// rewrite replaces the part in a file.
func (p part) rewrite(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), p.begin)
	_, after, closed := strings.Cut(rest, p.end)
	if !ok || !closed {
		return fmt.Errorf("%s has no lines %q and %q", path, p.begin, p.end)
	}
	return os.WriteFile(path, []byte(before+p.begin+p.text+p.end+after), 0o644)
}

// sections are the matrices of all APIs.
func sections() string {
	var b strings.Builder
	for _, d := range api.Dialects() {
		b.WriteString(section(d))
	}
	return b.String()
}

// column is routes that take the same body.
type column struct {
	paths  []string
	fields []wire.Field
}

// columnsOf groups the routes of an API by what they take.
func columnsOf(routes []wire.Route) (columns []column) {
	for _, r := range routes {
		fields := wire.Fields(r.Body)
		if len(fields) == 0 {
			continue
		}
		i := slices.IndexFunc(columns, func(c column) bool { return slices.Equal(c.fields, fields) })
		if i < 0 {
			i, columns = len(columns), append(columns, column{fields: fields})
		}
		columns[i].paths = append(columns[i].paths, "`"+r.Path+"`")
	}
	return columns
}

// section is the matrix of one API: a row for each field, a column for each body.
func section(d api.Dialect) string {
	columns := columnsOf(d.Routes)
	if len(columns) == 0 {
		return ""
	}
	types := map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: fields\n\n", d.Name)
	for i, c := range columns {
		fmt.Fprintf(&b, "* %c: %s\n", 'A'+i, strings.Join(c.paths, ", "))
		for _, f := range c.fields {
			types[f.Name] = f.Type
		}
	}
	b.WriteString("\n| field | type |")
	for i := range columns {
		fmt.Fprintf(&b, " %c |", 'A'+i)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&b, "| `%s` | %s |", name, types[name])
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", mark(c.fields, name))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// mark tells whether a field is taken.
func mark(fields []wire.Field, name string) string {
	i := slices.IndexFunc(fields, func(f wire.Field) bool { return f.Name == name })
	switch {
	case i < 0:
		return ""
	case fields[i].Refused:
		return "refused"
	}
	return "yes"
}
