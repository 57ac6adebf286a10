// SPDX-License-Identifier: MIT

package completion

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/script"
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

// trusted may bring anything.
var trusted = Caller{TakeScript: func(string, string) error { return nil }, MayBringModules: true}

func TestReadUses_Scripts(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		want []serving.PluginUse
	}{
		"short":        {`[{"script":"a <b"}]`, []serving.PluginUse{{Name: "script", Source: "plugins[0].script", Config: json.RawMessage(`{"source":"a <b"}`)}}},
		"long":         {`[{"name":"script","config":{"source":"a"}}]`, []serving.PluginUse{{Name: "script", Source: "plugins[0].config.source", Config: json.RawMessage(`{"source":"a"}`)}}},
		"no source":    {`["script"]`, []serving.PluginUse{{Name: "script"}}},
		"with a null":  {`[{"script":"a","config":null}]`, []serving.PluginUse{{Name: "script", Source: "plugins[0].script", Config: json.RawMessage(`{"source":"a"}`)}}},
		"named":        {`[{"script":"a","name":"ban","config":{"n":[1]},"on_error":"skip"}]`, []serving.PluginUse{{Name: "ban", Skip: true, Source: "plugins[0].script", Config: json.RawMessage(`{"source":"a","config":{"n":[1]}}`)}}},
		"several":      {`[{"script":"a"},"other",{"script":"b","name":"b.2"}]`, []serving.PluginUse{{Name: "script", Source: "plugins[0].script", Config: json.RawMessage(`{"source":"a"}`)}, {Name: "other"}, {Name: "b.2", Source: "plugins[2].script", Config: json.RawMessage(`{"source":"b"}`)}}},
		"empty source": {`[{"script":""}]`, []serving.PluginUse{{Name: "script", Source: "plugins[0].script", Config: json.RawMessage(`{"source":""}`)}}},
	} {
		var taken []string
		got, err := readUses(json.RawMessage(tc.list), Caller{TakeScript: func(source, field string) error {
			taken = append(taken, field)
			return nil
		}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var scripts []string
		for i := range tc.want {
			tc.want[i].Field = fmt.Sprintf("plugins[%d]", i)
			if tc.want[i].Source != "" {
				scripts = append(scripts, tc.want[i].Source)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(scripts, taken); diff != "" {
			t.Errorf("%s: taken: %s", name, diff)
		}
	}
}

func TestReadUses_Scripts_Refused(t *testing.T) {
	long := strings.Repeat("x", script.MaxSource+1)
	for name, tc := range map[string]struct{ list, field, says string }{
		"too long":            {`[{"script":"` + long + `"}]`, "plugins[0].script", "65537 bytes"},
		"too long, long form": {`["a",{"name":"script","config":{"source":"` + long + `"}}]`, "plugins[1].config.source", "65537 bytes"},
		"no name":             {`[{"script":"a","name":"A b"}]`, "plugins[0].name", `"A b"`},
		"names an entry":      {`["a",{"script":"secret","name":"a"}]`, "plugins[1]", "a name of its own"},
		"twice":               {`[{"script":"secret"},{"script":"secret 2"}]`, "plugins[1]", `"script"`},
		"a pin":               {`[{"script":"secret","sha256":"` + strings.Repeat("0", 64) + `"}]`, "plugins[0].sha256", "leave the field out"},
		"another field":       {`[{"script":"secret","source":"a"}]`, "plugins[0]", "script, name, config and on_error"},
		"no text":             {`[{"script":["secret"]}]`, "plugins[0]", "script, name, config and on_error"},
		"too many":            {`[` + strings.Repeat(`{"script":"secret"},`, maxPlugins) + `"a"]`, "plugins", "at most 16"},
	} {
		_, err := readUses(json.RawMessage(tc.list), trusted)
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Field != tc.field || !strings.Contains(refused.Message, tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "xxx")) {
			t.Errorf("%s: the error quotes the script: %v", name, err)
		}
	}
}

// Who may bring none is told so before anything else is done.
func TestCaller_TakeScript_Nobody(t *testing.T) {
	_, err := readUses(json.RawMessage(`["a",{"script":"secret"}]`), Caller{})
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Kind != refusal.KindForbidden || refused.Field != "plugins[1].script" || !strings.Contains(refused.Message, "plugins.scripts") {
		t.Errorf("%v", err)
	}
}

// A module is named by its id, and what the request calls it is the client's choice.
func TestReadUses_Modules(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	got, err := readUses(json.RawMessage(`[{"module":"sha256:`+sum+`"},{"module":"sha256:`+sum+`","name":"ban","config":{"n":1},"on_error":"skip"}]`), trusted)
	want := []serving.PluginUse{{Name: "module", Module: sum, Field: "plugins[0]"}, {Name: "ban", Module: sum, Config: json.RawMessage(`{"n":1}`), Skip: true, Field: "plugins[1]"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for name, tc := range map[string]struct{ list, field, says string }{
		"no id":         {`[{"module":"` + sum + `"}]`, "plugins[0].module", "POST /v1/modules"},
		"no name":       {`[{"module":"sha256:` + sum + `","name":"A b"}]`, "plugins[0].name", `"A b"`},
		"twice":         {`[{"module":"sha256:` + sum + `"},{"module":"sha256:` + sum + `"}]`, "plugins[1]", "a name of its own"},
		"with a script": {`[{"module":"sha256:` + sum + `","script":"a"}]`, "plugins[0]", "module, name, config and on_error"},
		"with a pin":    {`[{"module":"sha256:` + sum + `","sha256":"` + sum + `"}]`, "plugins[0]", "module, name, config and on_error"},
	} {
		_, err := readUses(json.RawMessage(tc.list), trusted)
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Field != tc.field || !strings.Contains(refused.Message, tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var refused *refusal.Error
	if _, err := readUses(json.RawMessage(`[{"module":"any"}]`), Caller{}); !errors.As(err, &refused) || refused.Code != "modules_not_allowed" || refused.Field != "plugins[0].module" {
		t.Errorf("who may bring none is told %v", err)
	}
}

func TestPluginUse_ConfigField(t *testing.T) {
	for _, tc := range []struct{ source, part, want string }{
		{"", "", "plugins[2].config"}, {"", ".a[1]", "plugins[2].config.a[1]"},
		{"plugins[2].script", "", "plugins[2].script"}, {"plugins[2].script", ".source", "plugins[2].script"}, {"plugins[2].script", ".config.a", "plugins[2].config.a"},
		{"plugins[2].config.source", "", "plugins[2].config.source"}, {"plugins[2].config.source", ".config.a", "plugins[2].config.config.a"},
	} {
		if got := (serving.PluginUse{Field: "plugins[2]", Source: tc.source}).ConfigField(tc.part); got != tc.want {
			t.Errorf("%q, %q: %s, want %s", tc.source, tc.part, got, tc.want)
		}
	}
	if got := (serving.PluginUse{Source: "source"}).ConfigField(".config.a"); got != "config.a" {
		t.Errorf("checked alone: %s", got)
	}
}
