// SPDX-License-Identifier: MIT

package completion

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/tools/must"
)

// What clients of other servers send becomes an entry of plugins.
func TestReadyFields_Add_Uses(t *testing.T) {
	for body, want := range map[string][]string{
		`{}`: nil,
		`{"banned_strings":[],"banned_regex":null,"custom_token_bans":"","repetition_detection":{"max_pattern_size":0}}`: nil,
		`{"banned_strings":"a b"}`:                    {"banned_strings", "banned-phrases", `{"phrases":["a b"]}`},
		`{"banned_strings":["a","","b"]}`:             {"banned_strings", "banned-phrases", `{"phrases":["a","b"]}`},
		`{"banned_regex":["A+"]}`:                     {"banned_regex", "banned-phrases", `{"patterns":["A+"]}`},
		`{"banned_regex":"A+","banned_strings":"c"}`:  {"banned_strings", "banned-phrases", `{"patterns":["A+"],"phrases":["c"]}`},
		`{"banned_regex_case_insensitive":["a","b"]}`: {"banned_regex_case_insensitive", "banned-phrases", `{"patterns":["(?i)a","(?i)b"]}`},
		`{"repetition_detection":{"max_pattern_size":20,"min_count":3}}`: {"repetition_detection", "repetition-stop",
			`{"max_pattern_size":20,"min_pattern_size":1,"min_count":3}`},
	} {
		got, err := added(t, body, nil)
		var flat []string
		for _, u := range got {
			flat = append(flat, u.ConfigField(".patterns[0]"), u.Name, string(u.Config))
		}
		if err != nil || !slices.Equal(flat, want) {
			t.Errorf("%s: got %q and %v, want %q", body, flat, err, want)
		}
	}
}

func added(t *testing.T, body string, uses []serving.PluginUse) ([]serving.PluginUse, error) {
	t.Helper()
	x := DefaultCommonFields()
	must.Do(t, json.Unmarshal([]byte(body), &x))
	return x.add(uses)
}

func TestReadyFields_Add_Refusals(t *testing.T) {
	listed := []serving.PluginUse{{Name: "other", Field: "plugins[0]"}, {Name: "banned-phrases", Field: "plugins[1]"}}
	for body, want := range map[string]string{
		`{"banned_strings":5}`:                                                        "banned_strings",
		`{"banned_strings":[5]}`:                                                      "banned_strings",
		`{"banned_strings":"` + strings.Repeat("a", 201) + `"}`:                       "banned_strings",
		`{"banned_strings":["` + strings.Repeat(`a","`, 1000) + `b"]}`:                "banned_strings",
		`{"banned_strings":"a"}`:                                                      "banned_strings", // beside the list
		`{"banned_regex":"("}`:                                                        "banned_regex",
		`{"banned_regex_case_insensitive":[{}]}`:                                      "banned_regex_case_insensitive",
		`{"repetition_detection":[1]}`:                                                "repetition_detection",
		`{"repetition_detection":{"max_pattern_size":1.5}}`:                           "repetition_detection",
		`{"repetition_detection":{"max_pattern_size":-1,"min_count":2}}`:              "repetition_detection.max_pattern_size",
		`{"repetition_detection":{"max_pattern_size":600,"min_count":2}}`:             "repetition_detection.max_pattern_size",
		`{"repetition_detection":{"max_pattern_size":4,"min_pattern_size":5}}`:        "repetition_detection.max_pattern_size",
		`{"repetition_detection":{"max_pattern_size":4,"min_count":1}}`:               "repetition_detection.min_count",
		`{"repetition_detection":{"max_pattern_size":400,"min_count":9000000000000}}`: "repetition_detection.min_count",
	} {
		_, err := added(t, body, listed)
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Kind != refusal.KindInvalid || refused.Field != want {
			t.Errorf("%.80s: got %v, want a refusal of %s", body, err, want)
		}
	}
}
