// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestBraceFunctions(t *testing.T) {
	for name, tc := range map[string]struct {
		path, text string
		want       []function
	}{
		"braces that are none": {"a.ts", "// {\nfunction f() {\n  return '{' + \"{\" + `{` ; g(/[{/]{/) /* { */\n}\n", []function{{"f", 2, 4}}},
		"nested":               {"a.ts", "export function f(a: X): Y<Z> {\n  g(() => {\n  });\n  if (a) {\n  }\n}\n", []function{{"f", 1, 6}}},
		"method":               {"a.ts", "export class A extends B {\n  f(): void {\n  }\n}\n", []function{{"f", 2, 3}}},
		"object":               {"a.ts", "export default defineConfig({\n  a: {\n  },\n});\n", nil},
		"suite":                {"a.ts", "describe('x', () => {\n  it('y', () => {\n  });\n});\n", []function{{"it", 2, 3}}},
		"lifetime":             {"a.rs", "fn f<'a>(c: char) -> bool {\n  c == '{' || c == '\\''\n}\n", []function{{"f", 1, 3}}},
		"attribute":            {"a.rs", "#[cfg(test)]\nmod tests {\n#[test]\nfn t() {\n}\n}\n", []function{{"t", 3, 5}}},
		"raw string":           {"a.cpp", "#define X {\nint f() {\n  g(R\"({)\", 1'000);\n}\n", []function{{"f", 2, 4}}},
		"struct":               {"a.h", "struct a {\n  int b[2] = {1, 2};\n};\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(braceFunctions(file{tc.path, []byte(tc.text)}))(t)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(function{})); diff != "" {
				t.Errorf("functions (-want +got):\n%s", diff)
			}
		})
	}
}
