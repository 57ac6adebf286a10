// SPDX-License-Identifier: MIT

package chat

import (
	"strings"
	"testing"
)

func TestJSONContent(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:                                  `{"a": 1}`,
		" \n\t{\"a\": [1, 2]} \n":                   `{"a": [1, 2]}`,
		"```json\n{\"a\":\n 1}\n```":                "{\"a\":\n 1}",
		"  ```json{\"a\": \"`` \\\"`\\\\\"} ``` \n": "{\"a\": \"`` \\\"`\\\\\"}",
		"```json {\"a\": \"``":                      "{\"a\": \"``",
		"```json {\"a\": 1}\n``":                    `{"a": 1}`,
		"```js":                                     "",
		"```json":                                   "",
		"```python\nprint()\n```":                   "```python\nprint()\n```", // as a plugin may have it
		"no `JSON` at all":                          "no `JSON` at all",
	} {
		var bytes strings.Builder
		j, one := &jsonContent{}, &jsonContent{}
		for i := range len(text) {
			bytes.WriteString(one.add(text[i : i+1]))
		}
		if got := j.add(text); got != want || bytes.String() != want {
			t.Errorf("%q: got %q, byte by byte %q, want %q", text, got, bytes.String(), want)
		}
	}
}
