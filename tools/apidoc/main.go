// SPDX-License-Identifier: MIT

// Command apidoc writes into docs/fields.md and docs/openapi.yaml which fields each route of the
// API takes, from the structs that bodies are decoded into.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/tools/section"
)

//go:generate go run . ../../docs/fields.md ../../docs/openapi.yaml

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: apidoc MARKDOWN OPENAPI")
		os.Exit(2)
	}
	fields := section.Section{Begin: "<!-- fields: written by tools/apidoc (make generate) from the structs below host/api -->\n", End: "<!-- end of fields -->\n"}
	bodies := section.Section{Begin: "    # bodies: written by tools/apidoc (make generate) from the structs below host/api\n", End: "    # end of bodies\n"}
	if err := errors.Join(fields.Replace(os.Args[1], sections()), bodies.Replace(os.Args[2], bodySchemas())); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

// sections are the fields that all bodies which ask for text have, and the matrices of all APIs
// with the others.
func sections() string {
	var b strings.Builder
	common, defaults := commonFields(api.Dialects()), commonDefaults()
	b.WriteString("\n## All routes for text\n\n| field | type | range | default |\n|---|---|---|---|\n")
	for _, f := range common {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, f.Range, defaults[f.Name])
	}
	for _, d := range append(api.Dialects(), api.Dialect{Name: "With the admin key", Routes: api.AdminBodies()}) {
		b.WriteString(matrix(d, common))
	}
	return b.String()
}

// commonFields are the fields of completion.CommonFields that every body with such fields has,
// sorted by name.
func commonFields(dialects []api.Dialect) []wire.Field {
	common := wire.Fields(completion.CommonFields{})
	for _, d := range dialects {
		for _, c := range columnsOf(d.Routes) {
			if c.asksForText() {
				common = slices.DeleteFunc(common, func(f wire.Field) bool { return !slices.Contains(c.fields, f) })
			}
		}
	}
	slices.SortFunc(common, func(a, b wire.Field) int { return strings.Compare(a.Name, b.Name) })
	return common
}

// commonDefaults are the values that a body begins with, as JSON; those of fields that need not
// have one are left out.
func commonDefaults() map[string]string {
	text, err := json.Marshal(completion.CommonFields{ParamFields: sampling.FieldsOf(sampling.Default()), CachePrompt: completion.DefaultCommonFields().CachePrompt})
	var values map[string]json.RawMessage
	if err = errors.Join(err, json.Unmarshal(text, &values)); err != nil {
		panic(err) // plain values
	}
	defaults := map[string]string{}
	for name, value := range values {
		if completion.IsSet(value) || string(value) == "false" {
			defaults[name] = "`" + string(value) + "`"
		}
	}
	return defaults
}

// column is routes that take the same body.
type column struct {
	paths  []string
	fields []wire.Field
	form   bool // with a file, instead of JSON
}

// asksForText reports whether a body has sampling parameters.
func (c column) asksForText() bool {
	return slices.ContainsFunc(c.fields, func(f wire.Field) bool { return f.Name == "temperature" })
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
			i, columns = len(columns), append(columns, column{fields: fields, form: r.TakesForm()})
		}
		columns[i].paths = append(columns[i].paths, "`"+r.Path+"`")
	}
	return columns
}

// matrix is that of one API: a row for each field that is not common to all bodies which ask for
// text, a column for each body.
func matrix(d api.Dialect, common []wire.Field) string {
	columns := columnsOf(d.Routes)
	if len(columns) == 0 {
		return ""
	}
	types := map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n", d.Name)
	for i, c := range columns {
		note := ""
		if c.asksForText() {
			note = " (in addition to the fields of all text routes)"
		}
		if c.form {
			note += ", as a form"
		}
		fmt.Fprintf(&b, "* %c: %s%s\n", 'A'+i, strings.Join(c.paths, ", "), note)
		for _, f := range c.fields {
			if !c.asksForText() || !slices.Contains(common, f) {
				if other, seen := types[f.Name]; seen {
					types[f.Name] = joined(other, f.Type)
				} else {
					types[f.Name] = f.Type
				}
			}
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

// joined is a type, which other bodies of the same API may have otherwise.
func joined(other, kind string) string {
	switch {
	case other == "" || kind == "": // one of them takes several
		return ""
	case slices.Contains(strings.Split(other, ", "), kind):
		return other
	}
	return other + ", " + kind
}

// mark tells whether a field is taken.
func mark(fields []wire.Field, name string) string {
	i := slices.IndexFunc(fields, func(f wire.Field) bool { return f.Name == name })
	switch {
	case i < 0:
		return ""
	case fields[i].Refused:
		return "refused"
	case fields[i].LeftOut:
		return "left out"
	}
	return "yes"
}

// jsonTypes are the types of fields as a schema has them.
var jsonTypes = map[string]string{"text": "string", "integer": "integer", "number": "number", "true or false": "boolean", "list": "array", "object": "object"}

// bodySchemas are the schemas of all bodies, each under the name of the first route that takes it,
// as OpenAPI's components have them.
func bodySchemas() string {
	var b strings.Builder
	for _, d := range api.Dialects() {
		for _, c := range columnsOf(d.Routes) {
			fmt.Fprintf(&b, "    %s:\n      type: object\n      properties:\n", schemaName(c.paths[0]))
			for _, f := range c.fields {
				var about []string
				if f.Type == "file" {
					about = append(about, "type: string", "format: binary")
				}
				if name := jsonTypes[f.Type]; name != "" {
					about = append(about, "type: ["+name+", 'null']")
				}
				if f.Refused {
					about = append(about, "description: known and refused")
				}
				if f.LeftOut {
					about = append(about, "description: 'known and left out, which a Warning header tells'")
				}
				fmt.Fprintf(&b, "        %s: {%s}\n", f.Name, strings.Join(about, ", "))
			}
		}
	}
	return b.String()
}

// schemaName is a route's path as the name of its body's schema: v1.chat.completions.
func schemaName(path string) string {
	return strings.NewReplacer("/", ".", ":", "").Replace(strings.Trim(path, "`/"))
}
