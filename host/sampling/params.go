// SPDX-License-Identifier: MIT

// Package sampling defines the sampling parameters of a request, with their ranges and defaults.
//
// The API reads them from requests, and the engine builds a sampler chain from them. Names and
// defaults are llama.cpp's.
//
// Params has all parameters of a request. Those that are used as they stand in its JSON are Plain,
// among them Numbers, which llama.cpp's samplers take. Fields is the JSON object: Plain, and the
// parameters that have to be read first.
//
// A new parameter is a field of Plain, or of Numbers if llama.cpp's samplers take it: the tags say
// what requests call it and, of a number, its range, without which the program panics at its start
// (fields.go). Requests, the check of ranges, what plugins and clients are told, and docs/fields.md
// follow from that.
//
// # Why is host/sampling a package of its own?
//
// The API reads sampling parameters from requests, and the engine builds sampler chains from
// them. Neither may import the other, so what they share is a leaf package.
package sampling

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
)

// Params are the sampling parameters of one request. Default gives llama.cpp's values; Validate
// checks the ranges.
type Params struct {
	Seed uint32 // start of every random draw; the API draws one if the request has none
	Plain

	LogitBias map[int32]float32 // token → added to its logit; −Inf bans it
	Constraint
	Thinking Thinking

	// Room is how many tokens the answer has at most, by max_tokens and the context's end, for
	// Complete; 0: no limit.
	Room int

	Trace bool // a trace is wanted: where it changes no token, each sampler is a stage of its own
}

// Plain are the parameters that stand in a JSON object as they are used.
type Plain struct {
	Chain Chain `json:"samplers"` // the order of the samplers, natives by their llama.cpp names, plugins as plugin:NAME
	Numbers

	// Mirostat is 0 for off, 1 or 2 for its two versions; then only penalties, dry and temperature
	// of the chain are used.
	Mirostat int `json:"mirostat" min:"0" max:"2"`

	DrySequenceBreakers []string `json:"dry_sequence_breakers"`
	IgnoreEOS           bool     `json:"ignore_eos"` // end-of-generation tokens are never drawn

	// Complete has an answer that a constraint limits be whole within Params.Room.
	Complete bool `json:"complete"`

	// GenerationPrompt is the end of the prompt that a chat template has put there as the
	// beginning of the answer. A format's grammar begins with it, and thinking may have begun in
	// it.
	GenerationPrompt string   `json:"generation_prompt"`
	PreservedTokens  []string `json:"preserved_tokens"` // control tokens that are shown in the answer as their text, because its reader looks for them
}

// Numbers are what llama.cpp's samplers take. native.SamplerNumbers has the same fields in the
// same order, so that the engine converts one to the other; the compiler refuses that if they
// differ.
type Numbers struct {
	Temperature      float32 `json:"temperature" min:"0" max:"100"`    // at 0 the most likely token is taken
	DynatempRange    float32 `json:"dynatemp_range" min:"0" max:"100"` // temperature moves within ± this by entropy; 0: off
	DynatempExponent float32 `json:"dynatemp_exponent" min:"0" max:"100"`

	TopK      int     `json:"top_k" min:"-1" max:"2147483647"`           // at or below 0: off
	MinKeep   int     `json:"min_keep" min:"0" max:"1048576"`            // every truncating sampler leaves at least so many candidates
	TopP      float32 `json:"top_p" min:"0" max:"1"`                     // 1: off
	MinP      float32 `json:"min_p" min:"0" max:"1"`                     // 0: off
	TypicalP  float32 `json:"typical_p" min:"0" max:"1"`                 // 1: off
	TopNSigma float32 `json:"top_n_sigma" min:"-1" max:"1000" off:"min"` // at or below 0: off

	XTCProbability float32 `json:"xtc_probability" min:"0" max:"1"` // 0: off
	XTCThreshold   float32 `json:"xtc_threshold" min:"0" max:"1"`   // above 0.5: off

	RepeatLastN      int     `json:"repeat_last_n" min:"-1" max:"1048576"` // tokens the penalties look back; -1: the whole context, 0: off
	RepeatPenalty    float32 `json:"repeat_penalty" min:"0.01" max:"100"`
	FrequencyPenalty float32 `json:"frequency_penalty" min:"-100" max:"100"`
	PresencePenalty  float32 `json:"presence_penalty" min:"-100" max:"100"`

	DryMultiplier    float32 `json:"dry_multiplier" min:"0" max:"100"` // 0: off
	DryBase          float32 `json:"dry_base" min:"0" max:"100"`
	DryAllowedLength int     `json:"dry_allowed_length" min:"0" max:"1048576"`
	DryPenaltyLastN  int     `json:"dry_penalty_last_n" min:"-1" max:"1048576"` // tokens DRY looks back; -1: the whole context, 0: off

	MirostatTau float32 `json:"mirostat_tau" min:"0" max:"100"`
	MirostatEta float32 `json:"mirostat_eta" min:"0" max:"10"`

	AdaptiveTarget float32 `json:"adaptive_target" min:"-1" max:"1" off:"min"` // negative: off
	AdaptiveDecay  float32 `json:"adaptive_decay" min:"0" max:"0.99"`
}

// Default gives llama.cpp's default parameters.
func Default() Params {
	return Params{
		Plain: Plain{
			Chain: Chain{"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"},
			Numbers: Numbers{
				Temperature:      0.8,
				DynatempExponent: 1,
				TopK:             40,
				TopP:             0.95,
				MinP:             0.05,
				TypicalP:         1,
				TopNSigma:        -1,
				XTCThreshold:     0.1,
				RepeatLastN:      64,
				RepeatPenalty:    1,
				DryBase:          1.75,
				DryAllowedLength: 2,
				DryPenaltyLastN:  64,
				MirostatTau:      5,
				MirostatEta:      0.1,
				AdaptiveTarget:   -1,
				AdaptiveDecay:    0.9,
			},
			DrySequenceBreakers: []string{"\n", ":", "\"", "*"},
		},
		Thinking: Thinking{Budget: -1},
	}
}

// ErrInvalid is what every *Invalid is.
var ErrInvalid = errors.New("invalid sampling parameter")

// ErrCrowded says that nothing is wrong with a schema or grammar, but there is no memory for it
// now.
var ErrCrowded = errors.New("the schemas and grammars of other answers take all the memory that there is for them; try again when some have ended")

// Invalid is a parameter that cannot be used.
type Invalid struct {
	Field string // its JSON name
	Value string
	Want  string // what is allowed
	Why   string // instead of Value and Want, where a value of the right kind is wrong in itself
}

// Refused makes an Invalid from a sentence that names the field.
func Refused(field, format string, args ...any) *Invalid {
	return &Invalid{Field: field, Why: fmt.Sprintf(format, args...)}
}

// Error names the field, the value and what is allowed.
func (e *Invalid) Error() string {
	if e.Why != "" {
		return e.Why
	}
	return fmt.Sprintf("%s is %s; it must be %s", e.Field, e.Value, e.Want)
}

// Is reports whether target is ErrInvalid.
func (e *Invalid) Is(target error) bool { return target == ErrInvalid }

// longest is how much of a client's value an error repeats.
const longest = 80

func invalid(field string, value any, want string) error {
	text := excerpt.Of(fmt.Sprint(value), longest)
	if _, isText := value.(string); isText {
		text = strconv.Quote(text)
	}
	return &Invalid{Field: field, Value: text, Want: want}
}

// maxPreserved bounds what each token of an answer is compared with.
const maxPreserved = 1024

// Validate checks that every parameter is a number and within its range. Its error is an *Invalid.
func (p Params) Validate() error {
	if err := p.checkRanges(); err != nil {
		return err
	}
	if err := p.validateBiases(); err != nil {
		return err
	}
	if n := len(p.PreservedTokens); n > maxPreserved {
		return invalid("preserved_tokens", n, fmt.Sprintf("at most %d texts", maxPreserved))
	}
	return p.Thinking.validate()
}

func (p Params) validateBiases() error {
	for token, bias := range p.LogitBias {
		if math.IsNaN(float64(bias)) || math.IsInf(float64(bias), 1) {
			return invalid("logit_bias", bias, fmt.Sprintf("a finite number for token %d", token))
		}
	}
	return nil
}

// Describe is a JSON object of the parameters in force, under the names of a request's body. In
// the place of what the answer must look like it has "grammar": whether there is a constraint.
// more are further members.
func (p Params) Describe(more map[string]any) ([]byte, error) {
	object := p.Values()
	maps.DeleteFunc(object, isEmptyList)
	object["seed"], object["grammar"], object["logit_bias"] = p.Seed, p.IsSet(), describeBias(p.LogitBias)
	object["reasoning_budget_tokens"] = p.Thinking.Budget
	maps.Copy(object, more)
	return json.Marshal(object)
}

// isEmptyList reports whether a value is a list without entries: plugins are not told of those.
func isEmptyList(_ string, value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Slice && v.Len() == 0
}

// describeBias is the object that a request would have; false bans a token.
func describeBias(biases map[int32]float32) map[string]any {
	object := make(map[string]any, len(biases))
	for token, bias := range biases {
		name := strconv.Itoa(int(token))
		object[name] = bias
		if math.IsInf(float64(bias), -1) {
			object[name] = false
		}
	}
	return object
}

type saltKey struct{}

// WithSalt is a context of work for a caller. What is kept of the work is used again only for
// callers with the same salt: a fast answer would reveal what others have sent.
func WithSalt(ctx context.Context, salt string) context.Context {
	return context.WithValue(ctx, saltKey{}, salt)
}

// SaltOf is the salt of a context. False: it has none, and nothing is kept of the work.
func SaltOf(ctx context.Context) (salt string, has bool) {
	salt, has = ctx.Value(saltKey{}).(string)
	return salt, has
}

// Defaults are the parameters of requests that do not say them. nil are llama.cpp's.
type Defaults struct {
	params Params
	seeded bool
}

// NewDefaults are llama.cpp's, with the values that layers of texts have (Params.Over) in their
// place, a later layer before an earlier one. A negative seed is none.
func NewDefaults(layers ...map[string]string) (*Defaults, error) {
	said := map[string]string{}
	for _, layer := range layers {
		maps.Copy(said, layer)
	}
	params, err := Default().Over(said)
	if err != nil {
		return nil, err
	}
	return &Defaults{params, said["seed"] != "" && said["seed"][0] != '-'}, nil
}

// Params makes the parameters of one request. Their seed is random where none was given.
func (d *Defaults) Params() Params {
	p := Default()
	if d != nil {
		p = d.params
	}
	if !d.Seeded() {
		p.Seed = RandomSeed()
	}
	return p
}

// Seeded reports whether a seed was said.
func (d *Defaults) Seeded() bool { return d != nil && d.seeded }

// Sampler is one of llama.cpp's samplers.
type Sampler struct {
	Name    string   // in llama.cpp
	Letter  byte     // in a chain that is written as a word
	Aliases []string // other spellings that llama.cpp's server takes
	Narrows bool     // it drops candidates
	Selects bool     // it chooses the token at the end of the chain, wherever in the chain it stands
}

// samplers are those that a chain may name.
var samplers = []Sampler{
	{Name: "penalties", Letter: 'e'},
	{Name: "dry", Letter: 'd'},
	{Name: "top_n_sigma", Letter: 's', Aliases: []string{"top-n-sigma"}, Narrows: true},
	{Name: "top_k", Letter: 'k', Aliases: []string{"top-k"}, Narrows: true},
	{Name: "typ_p", Letter: 'y', Aliases: []string{"typ", "typ-p", "typical", "typical_p", "typical-p"}, Narrows: true},
	{Name: "top_p", Letter: 'p', Aliases: []string{"top-p", "nucleus"}, Narrows: true},
	{Name: "min_p", Letter: 'm', Aliases: []string{"min-p"}, Narrows: true},
	{Name: "xtc", Letter: 'x', Narrows: true},
	{Name: "temperature", Letter: 't', Aliases: []string{"temp"}},
	{Name: "infill", Letter: 'i', Narrows: true},
	{Name: "adaptive_p", Letter: 'a', Aliases: []string{"adaptive-p"}, Selects: true},
}

// SamplerNamed finds a sampler by its name or an alias. The error is an *Invalid.
func SamplerNamed(name string) (Sampler, error) {
	for _, s := range samplers {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s, nil
		}
	}
	var names []string
	for _, s := range samplers {
		names = append(names, s.Name)
	}
	return Sampler{}, invalid("samplers", name, strings.Join(names, ", ")+" or plugin:NAME")
}

// Chain is a list of samplers and plugins. In JSON it may also be a word with a letter for each
// sampler, as with llama.cpp: "kpt".
type Chain []string

// UnmarshalJSON implements json.Unmarshaler. null leaves the chain as it is.
func (c *Chain) UnmarshalJSON(text []byte) error {
	var word string
	if string(text) == "null" {
		return nil
	}
	if text[0] != '"' || json.Unmarshal(text, &word) != nil {
		return json.Unmarshal(text, (*[]string)(c))
	}
	*c = byLetters(word)
	return nil
}

// byLetters are the samplers that the letters of a word stand for.
func byLetters(word string) Chain {
	c := make(Chain, 0, len(word))
	for i := range len(word) {
		at := slices.IndexFunc(samplers, func(s Sampler) bool { return s.Letter == word[i] })
		if at < 0 {
			return Chain{fmt.Sprintf("%c", word[i])} // canonical refuses it
		}
		c = append(c, samplers[at].Name)
	}
	return c
}

// readWord reads a chain that is written as one word: the name of its only entry, or letters.
func readWord(word string) []string {
	if _, ok := PluginNamed(word); ok {
		return []string{word}
	}
	if _, err := SamplerNamed(word); err == nil {
		return []string{word}
	}
	return byLetters(word)
}

const pluginPrefix = "plugin:"

// PluginEntry is how a chain names a plugin.
func PluginEntry(plugin string) string { return pluginPrefix + plugin }

// PluginNamed tells which plugin an entry of a chain names; ok is false where it names a sampler.
func PluginNamed(entry string) (plugin string, ok bool) {
	plugin, ok = strings.CutPrefix(entry, pluginPrefix)
	return plugin, ok && plugin != ""
}

// maxChain bounds a chain: each stage costs time for every token.
const maxChain = 32

// resolveAliases replaces the aliases in a chain and refuses what names no sampler.
func resolveAliases(entries []string) ([]string, error) {
	if len(entries) > maxChain {
		return nil, invalid("samplers", len(entries), "at most 32 names")
	}
	chain := make([]string, 0, len(entries))
	for _, entry := range entries {
		if _, ok := PluginNamed(entry); !ok {
			sampler, err := SamplerNamed(entry)
			if err != nil {
				return nil, err
			}
			entry = sampler.Name
		}
		chain = append(chain, entry)
	}
	return chain, nil
}

// Vocabulary is what must be known of a model to read a bias on a text or a token.
type Vocabulary interface {
	// Size is the number of tokens.
	Size() int
	// Tokenize splits text. It adds no special tokens and sees none in the text.
	Tokenize(text string) ([]int32, error)
}

// maxBiasText bounds the texts of biases together, in bytes. Each text counts for some more, which
// stand for what tokenizing costs whatever its length.
const (
	maxBiasText = 256 << 10
	perBiasText = 64
)

// biases are those that are read.
type biases struct {
	of    map[int32]float32
	texts int // what maxBiasText bounds
	v     Vocabulary
}

// parseBias reads OpenAI's form {"TOKEN": bias} and llama.cpp's [[TOKEN or "text", bias or false],
// …]; false bans, and the names of an object may be texts, too. An absent one keeps base.
func parseBias(raw json.RawMessage, base map[int32]float32, v Vocabulary) (map[int32]float32, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return base, nil
	}
	b := biases{of: map[int32]float32{}, v: v}
	if raw[0] == '{' {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, malformedBias(raw)
		}
		for name, value := range object {
			add := b.addToken
			if _, err := strconv.ParseInt(name, 10, 64); err != nil {
				add = b.addText
			}
			if err := add(name, value); err != nil {
				return nil, err
			}
		}
		return b.of, nil
	}
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return nil, malformedBias(raw)
	}
	for _, pair := range pairs {
		var text string
		if err := json.Unmarshal(pair[0], &text); err == nil {
			err = b.addText(text, pair[1])
			if err != nil {
				return nil, err
			}
			continue
		}
		name := string(pair[0])
		var token *int64
		if integer.Unmarshal(pair[0], &token) == nil && token != nil {
			name = strconv.FormatInt(*token, 10)
		}
		if err := b.addToken(name, pair[1]); err != nil {
			return nil, err
		}
	}
	return b.of, nil
}

func (b *biases) addToken(name string, value json.RawMessage) error {
	token, err := strconv.ParseInt(name, 10, 32)
	if err != nil || token < 0 || token >= int64(b.v.Size()) {
		return invalid("logit_bias", name, "a token from 0 to "+strconv.Itoa(b.v.Size()-1))
	}
	bias, err := biasValue(value)
	if err != nil {
		return err
	}
	b.of[int32(token)] = bias
	return nil
}

func (b *biases) addText(text string, value json.RawMessage) error {
	if b.texts += len(text) + perBiasText; b.texts > maxBiasText {
		return invalid("logit_bias", text, "texts of at most "+strconv.Itoa(maxBiasText>>10)+" KiB together")
	}
	bias, err := biasValue(value)
	if err != nil {
		return err
	}
	tokens, err := b.v.Tokenize(text)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		b.of[t] = bias
	}
	return nil
}

func biasValue(raw json.RawMessage) (float32, error) {
	if string(raw) == "false" {
		return float32(math.Inf(-1)), nil
	}
	var bias *float32
	if err := json.Unmarshal(raw, &bias); err != nil || bias == nil {
		return 0, invalid("logit_bias", string(raw), "a number, or false to ban the token")
	}
	return *bias, nil
}

func malformedBias(raw []byte) error {
	return invalid("logit_bias", string(raw), `{"TOKEN": bias} or [[TOKEN, bias], …]`)
}
