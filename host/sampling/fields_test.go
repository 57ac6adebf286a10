// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

// letters is a vocabulary whose tokens are the lower-case letters.
type letters struct{}

func (letters) Size() int { return 26 }
func (letters) Tokenize(text string) ([]int32, error) {
	var tokens []int32
	for _, r := range text {
		tokens = append(tokens, r-'a')
	}
	return tokens, nil
}

func parse(t *testing.T, body string, base Params) (Params, error) {
	t.Helper()
	f := FieldsOf(base)
	must.Do(t, json.Unmarshal([]byte(body), &f))
	return f.Params(base, letters{})
}

func TestFields_Params_KeepsWhatIsNotSaid(t *testing.T) {
	base := Default()
	base.Seed, base.Grammar = 7, "root ::= \"a\""
	base.LogitBias = map[int32]float32{3: 1}
	got := must.Get(parse(t, `{"temperature":null}`, base))(t)
	if diff := cmp.Diff(base, got); diff != "" {
		t.Error(diff)
	}
}

func TestFields_Params_Values(t *testing.T) {
	got := must.Get(parse(t, `{"seed":42,"samplers":["top_k","typical_p","temp","plugin:x"],"top_k":1,"temperature":0,
		"logit_bias":[[1,2.5],["bc",false],["a",-1]],"ignore_eos":true,"mirostat":2}`, Default()))(t)
	want := Default()
	want.Seed, want.TopK, want.Temperature, want.IgnoreEOS, want.Mirostat = 42, 1, 0, true, 2
	want.Chain = []string{"top_k", "typ_p", "temperature", "plugin:x"}
	ban := float32(math.Inf(-1))
	want.LogitBias = map[int32]float32{0: -1, 1: ban, 2: ban}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFields_Params_Wrong(t *testing.T) {
	for field, bodies := range map[string][]string{
		"temperature":        {`{"temperature":-0.1}`, `{"temperature":1e9}`},
		"top_p":              {`{"top_p":1.01}`, `{"top_p":-1}`},
		"min_p":              {`{"min_p":2}`},
		"top_k":              {`{"top_k":-2}`, `{"top_k":2147483648}`},
		"typical_p":          {`{"typical_p":-0.5}`},
		"repeat_penalty":     {`{"repeat_penalty":0}`, `{"repeat_penalty":-1}`},
		"repeat_last_n":      {`{"repeat_last_n":-2}`, `{"repeat_last_n":99999999}`},
		"mirostat":           {`{"mirostat":3}`, `{"mirostat":-1}`},
		"xtc_probability":    {`{"xtc_probability":1.5}`},
		"dry_multiplier":     {`{"dry_multiplier":-1}`},
		"presence_penalty":   {`{"presence_penalty":101}`},
		"dry_penalty_last_n": {`{"dry_penalty_last_n":-5}`},
		"adaptive_decay":     {`{"adaptive_decay":1}`},
		"samplers":           {`{"samplers":["top_q"]}`, `{"samplers":["plugin:"]}`, `{"samplers":"kzt"}`, `{"samplers":"é"}`, `{"samplers":[""]}`, `{"samplers":[` + strings.Repeat(`"top_k",`, 40) + `"top_k"]}`},
		"logit_bias": {
			`{"logit_bias":{"26":1}}`, `{"logit_bias":{"-1":1}}`, `{"logit_bias":{"x":"1"}}`, `{"logit_bias":{"1":true}}`,
			`{"logit_bias":{"1":null}}`, `{"logit_bias":3}`, `{"logit_bias":[1]}`, `{"logit_bias":[["a","b"]]}`,
			`{"logit_bias":[[99,1]]}`, `{"logit_bias":{"1":1e39}}`,
		},
	} {
		for _, body := range bodies {
			_, err := parse(t, body, Default())
			var invalid *Invalid
			if !errors.As(err, &invalid) || !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v", body, err)
				continue
			}
			if invalid.Field != field || invalid.Value == "" || invalid.Want == "" {
				t.Errorf("%s: got %+v", body, invalid)
			}
		}
	}
}

func TestChain_UnmarshalJSON_Word(t *testing.T) {
	for body, want := range map[string][]string{
		`{"samplers":"edskypmxtia"}`: {"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "infill", "adaptive_p"},
		`{"samplers":""}`:            {},
		`{"samplers":["top_k"]}`:     {"top_k"},
		`{"samplers":null}`:          Default().Chain,
	} {
		got, err := parse(t, body, Default())
		if diff := cmp.Diff(Chain(want), got.Chain); diff != "" || err != nil {
			t.Errorf("%s: %v %s", body, err, diff)
		}
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(`{"samplers":3}`), new(ParamFields)); !errors.As(err, &wrong) || !strings.HasSuffix(wrong.Field, ".samplers") {
		t.Errorf("a number: %v", err)
	}
}

func TestFields_Params_BiasOnTexts(t *testing.T) {
	got, err := parse(t, `{"logit_bias":{"1":2,"cb":false}}`, Default())
	ban := float32(math.Inf(-1))
	if diff := cmp.Diff(map[int32]float32{1: 2}, map[int32]float32{1: got.LogitBias[1]}); err != nil || got.LogitBias[2] != ban {
		t.Errorf("%v %v %s", err, got.LogitBias, diff)
	}
}

// Texts of biases are tokenized, which nobody waits for long.
func TestFields_Params_BiasOnTexts_Bounds(t *testing.T) {
	many := make([]string, maxBiasText/perBiasText+1)
	for i := range many {
		many[i] = fmt.Sprintf("[%q,1]", "a")
	}
	for name, bias := range map[string]string{
		"a name": `{"` + strings.Repeat("a", maxBiasText) + `":1}`, "a text": `[["` + strings.Repeat("a", maxBiasText) + `",1]]`, "many": "[" + strings.Join(many, ",") + "]",
	} {
		var invalid *Invalid
		if _, err := parse(t, `{"logit_bias":`+bias+`}`, Default()); !errors.As(err, &invalid) || invalid.Field != "logit_bias" || !strings.Contains(err.Error(), "256 KiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInvalid_WholeCharacters: a long value is cut between characters.
func TestInvalid_WholeCharacters(t *testing.T) {
	for i := range 4 {
		_, err := parse(t, `{"samplers":["`+strings.Repeat("x", i)+strings.Repeat("🐸", 100)+`"]}`, Default())
		var invalid *Invalid
		if !errors.As(err, &invalid) || strings.Contains(invalid.Value, `\x`) || strings.ContainsRune(invalid.Value, utf8.RuneError) {
			t.Errorf("%d letters before: %v", i, err)
		}
	}
}

func TestParams_Validate_NotANumber(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, bad := range []float32{nan, inf, -inf} {
		p := Default()
		p.TopP = bad
		if err := p.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("top_p %v: %v", bad, err)
		}
	}
	for _, bad := range []float32{nan, inf} {
		p := Default()
		p.LogitBias = map[int32]float32{1: bad}
		if err := p.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("bias %v: %v", bad, err)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

func TestFold_NeverTheReservedSeed(t *testing.T) {
	for seed, want := range map[int64]uint32{0: 0, 1: 1, 1<<32 - 2: 1<<32 - 2, 1<<32 - 1: 0, math.MaxInt64: uint32(math.MaxInt64 % (1<<32 - 1))} {
		if got := foldSeed(seed); got != want {
			t.Errorf("fold(%d) = %d, want %d", seed, got, want)
		}
	}
	seen := map[uint32]bool{}
	for range 8 {
		seen[RandomSeed()] = true
	}
	if len(seen) < 7 {
		t.Errorf("random seeds repeat: %v", seen)
	}
}
