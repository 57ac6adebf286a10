// SPDX-License-Identifier: MIT

package config

import (
	"os"
	"strings"
	"testing"
)

func TestCheckAbsent(t *testing.T) {
	for _, tc := range []struct {
		args []string
		says string // empty: nothing
	}{
		{[]string{"serve", "--logit-bias", "3+1"}, "set them in the request"},
		{[]string{"serve", "--temp", "0.7"}, ""},
		{[]string{"serve", "-m", "x", "--spec-draft-p-min=0.5"}, "--spec-type"},
		{[]string{"serve", "--alias", "-md"}, ""},
		{[]string{"serve", "--", "--temp"}, ""},
		{[]string{"serve", "--grammar-file", "x"}, "set them in the request"},
		{[]string{"serve", "--unknown", "-zz"}, ""},
		{[]string{"serve", "--log-level", "warn", "-c", "4096", "--no-ui", "--metrics"}, ""},
		{[]string{"serve", "--log-file", "x"}, "--log-level"},
		{[]string{"serve", "-sps", "0.5", "--threads-http", "-md"}, ""},
		{[]string{"serve", "--api-prefix", "/x", "-lv", "4", "--no-slots", "-to", "9", "--log-prefix", "-no-kvu"}, ""},
		{[]string{"serve", "--kv-unified-per-slot", "9"}, "--kv-layout"},
	} {
		err := CheckAbsent(tc.args)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%v: %v, want %q", tc.args, err, tc.says)
		}
	}
}

// docs/llama-server.md shows the table of flags that are absent.
func TestAbsent_Documented(t *testing.T) {
	page, err := os.ReadFile("../../docs/llama-server.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range absent {
		for _, flag := range group.flags {
			if known, _ := FindFlag(flag); known {
				t.Errorf("%s is understood, so it is not absent", flag)
			}
		}
		row := "| `" + strings.Join(group.flags, "`, `") + "` | " + group.because + " |\n"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/llama-server.md lacks the row\n%s", row)
		}
	}
}
