// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/api"
)

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
