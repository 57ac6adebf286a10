// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// maxPlugins bounds the plugins of a request.
const maxPlugins = 16

// pluginObject are the fields of an entry that is an object, scriptObject and moduleObject those of
// one that is a script, or a module that the client has uploaded.
const (
	pluginObject = "name, config, sha256, on_error and enabled"
	scriptObject = "script, name, config and on_error"
	moduleObject = "module, name, config and on_error"
)

// moduleName is what an entry with a module is called that has no name.
const moduleName = "module"

var (
	hexSum   = regexp.MustCompile("^[0-9a-f]{64}$")
	moduleID = regexp.MustCompile("^sha256:([0-9a-f]{64})$")
	alias    = regexp.MustCompile("^[a-z0-9][a-z0-9._-]{0,63}$") // as plugins are named
)

// readUses reads plugins: a list of names, or of objects. from takes in each script and module.
func readUses(raw json.RawMessage, from Caller) ([]serving.PluginUse, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid("plugins", "plugins must be a list of names, or of objects with "+pluginObject+", with "+scriptObject+", or with "+moduleObject)
	}
	if len(items) > maxPlugins {
		return nil, refusal.Invalid("plugins", "plugins has %d entries; at most %d are allowed", len(items), maxPlugins)
	}
	uses := make([]serving.PluginUse, 0, len(items))
	for i, item := range items {
		field := fmt.Sprintf("plugins[%d]", i)
		use, err := readUse(item, field, from)
		if err != nil {
			return nil, err
		}
		switch {
		case !slices.ContainsFunc(uses, func(u serving.PluginUse) bool { return u.Name == use.Name }):
		case use.Brought():
			return nil, refusal.Invalid(field, "%s is called %q, as another entry of the list is; give each script and each module a name of its own", field, use.Name)
		default:
			return nil, refusal.Invalid(field, "%s is %q, which is in the list already", field, use.Name)
		}
		uses = append(uses, use)
	}
	return uses, nil
}

func readUse(item json.RawMessage, field string, from Caller) (serving.PluginUse, error) {
	use := serving.PluginUse{Field: field}
	if json.Unmarshal(item, &use.Name) == nil {
		return use, nil
	}
	var object struct {
		Script  *string         `json:"script"`
		Module  *string         `json:"module"`
		Name    string          `json:"name"`
		Config  json.RawMessage `json:"config"`
		SHA256  string          `json:"sha256"`
		OnError string          `json:"on_error"`
		Enabled *bool           `json:"enabled"`
	}
	d := json.NewDecoder(bytes.NewReader(item))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return use, refusal.Invalid(field, "%s must be a name or an object with %s, with %s, or with %s, and nothing else%s", field, pluginObject, scriptObject, moduleObject, unknownField(err))
	}
	switch object.OnError {
	case "", "fail":
	case "skip":
		use.Skip = true
	default:
		return use, refusal.Invalid(field+".on_error", `%s.on_error is %q; it must be "fail" or "skip"`, field, object.OnError)
	}
	if object.SHA256 != "" && !hexSum.MatchString(object.SHA256) {
		return use, refusal.Invalid(field+".sha256", "%s.sha256 is %q; it must be 64 hexadecimal digits in small letters, as GET /v1/plugins gives them", field, excerpt.Of(object.SHA256, 80))
	}
	use.Name, use.SHA256 = object.Name, object.SHA256
	if string(bytes.TrimSpace(object.Config)) != "null" {
		use.Config = object.Config
	}
	if object.Enabled != nil && !*object.Enabled {
		use.Off = true
		if object.Script != nil || object.Module != nil || len(use.Config) > 0 {
			return use, refusal.Invalid(field, "%s.enabled is false, so the request does without the plugin: leave out what it would be used with", field)
		}
		return use, nil
	}
	switch {
	case object.Module != nil && (object.Script != nil || object.SHA256 != ""):
		return use, refusal.Invalid(field, "%s has module beside script or sha256; an object with module has %s", field, moduleObject)
	case object.Module != nil:
		return use, asModule(&use, *object.Module, from)
	case object.Script != nil && object.SHA256 != "":
		return use, refusal.Invalid(field+".sha256", "%s.sha256 is for a module of this server; a script is what it is: leave the field out", field)
	case object.Script != nil:
		use.Source = field + ".script"
		return use, asScript(&use, *object.Script, from)
	case use.Name == script.Name:
		use.Source = field + ".config.source"
		return use, takeScript(sourceIn(use.Config), use.Source, from)
	}
	return use, nil
}

// nameBrought gives an entry with a script or a module its name in the request.
func nameBrought(use *serving.PluginUse, otherwise string) error {
	if use.Name = cmp.Or(use.Name, otherwise); !alias.MatchString(use.Name) {
		return refusal.Invalid(use.Field+".name", "%s.name is %q; the name of a script or a module is made of small letters, digits, dots, hyphens and underscores, begins with a letter or digit and has at most 64 characters",
			use.Field, excerpt.Of(use.Name, 80))
	}
	return nil
}

// asModule makes an entry with a module the use of one that the caller has uploaded.
func asModule(use *serving.PluginUse, id string, from Caller) error {
	if err := nameBrought(use, moduleName); err != nil {
		return err
	}
	field := use.Field + ".module"
	if !from.MayBringModules {
		return ModulesForbidden(field)
	}
	parts := moduleID.FindStringSubmatch(id)
	if parts == nil {
		return refusal.Invalid(field, "%s is %q; it must be the id of a module, sha256: and 64 hexadecimal digits in small letters, as POST /v1/modules gives it", field, excerpt.Of(id, 80))
	}
	use.Module = parts[1]
	return nil
}

// asScript makes an entry with a script the use of the plugin that runs scripts.
func asScript(use *serving.PluginUse, source string, from Caller) error {
	if err := nameBrought(use, script.Name); err != nil {
		return err
	}
	if err := takeScript(source, use.Source, from); err != nil {
		return err
	}
	var config bytes.Buffer
	e := json.NewEncoder(&config)
	e.SetEscapeHTML(false) // a recording shows it
	err := e.Encode(struct {
		Source string          `json:"source"`
		Config json.RawMessage `json:"config,omitempty"`
	}{source, use.Config})
	use.Config = bytes.TrimSpace(config.Bytes())
	return err
}

// sourceIn is the source in a configuration of the plugin that runs scripts; "": there is none,
// which the plugin's schema refuses. Names are exact: encoding/json would take "Source" for it.
func sourceIn(config json.RawMessage) (source string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(config, &fields) != nil || json.Unmarshal(fields["source"], &source) != nil {
		return ""
	}
	return source
}

// takeScript checks a script's size and has it taken.
func takeScript(source, field string, from Caller) error {
	if len(source) > script.MaxSource {
		return refusal.Invalid(field, "%s has %d bytes; a script may have %d", field, len(source), script.MaxSource)
	}
	return from.takeScript(source, field)
}

// unknownField names the field that a strict decoder does not know; "" after another error.
func unknownField(err error) string {
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return ""
	}
	return "; it has " + name
}

// discardPolicy closes a policy that has done nothing yet: no error of it matters.
func discardPolicy(p serving.Policy) { _ = p.Close() }

// pluginsOf resolves those of a request.
func pluginsOf(ctx context.Context, m *serving.Model, asker serving.Asker, uses []serving.PluginUse, chain []string) (serving.Plugins, error) {
	if m.Plugins != nil {
		return m.Plugins.Resolve(ctx, asker, uses, chain)
	}
	if len(uses) > 0 {
		field, _, _ := strings.Cut(uses[len(uses)-1].Field, "[")
		return nil, refusal.Unsupported(field, "%s is not supported by this server, which has no plugins", field)
	}
	return noPlugins{m.Engine}.Again(ctx, asker, chain)
}

// noPlugins stands for the plugins of a server that has none: the model's own samplers decide.
type noPlugins struct{ engine serving.Engine }

func (n noPlugins) NewPolicy(p sampling.Params, _ serving.AnswerInfo) (serving.Policy, error) {
	stages, err := n.engine.NewChain(p)
	return serving.Policy{Stages: stages, Renew: n.engine.NewChain}, err
}

func (noPlugins) Branches() int { return 0 }

func (noPlugins) Renders() bool { return false }

func (noPlugins) Rewrite(_ context.Context, _ serving.Conversing, m []chat.Message) ([]chat.Message, error) {
	return m, nil
}

func (noPlugins) Render(context.Context, serving.Conversing, []chat.Message) (*string, error) {
	return nil, nil
}

func (n noPlugins) Again(_ context.Context, _ serving.Asker, chain []string) (serving.Plugins, error) {
	if i := slices.IndexFunc(chain, namesPlugin); i >= 0 {
		return nil, refusal.Unsupported("samplers", "plugins in samplers are not supported by this server: %q", chain[i])
	}
	return n, nil
}

func (noPlugins) Used(chain []string) ([]serving.UsedPlugin, []string) { return nil, chain }

func (noPlugins) RefuseTemplates(string, bool) error { return nil }
func (noPlugins) Filtering() string                  { return "" }
func (noPlugins) Release()                           {}

// PluginOf is the plugin's name in that of a stage.
func PluginOf(stage string) string {
	if name, ok := sampling.PluginNamed(stage); ok {
		return name
	}
	return stage
}

func namesPlugin(entry string) bool {
	_, ok := sampling.PluginNamed(entry)
	return ok
}

// CheckedScript is a script that a caller wants to know of whether it can be used, and how. Fields
// of refusals are source and config.
type CheckedScript struct {
	Caller    Caller
	ModelName string // "": the default model
	Source    string
	Config    json.RawMessage // nil: none
}

// CheckScript compiles a script as a request with it would, and says what it asks for. What is
// wrong in the script is a refusal with refusal.ScriptCode.
func (s *Service) CheckScript(ctx context.Context, asked CheckedScript) (serving.Plan, error) {
	const field = "source"
	if asked.Source == "" {
		return serving.Plan{}, refusal.Invalid(field, "source is missing: the text of a script")
	}
	use := serving.PluginUse{Config: asked.Config, Source: field}
	if err := asScript(&use, asked.Source, asked.Caller); err != nil {
		return serving.Plan{}, err
	}
	m, release, err := s.Models.Use(ctx, asked.ModelName)
	if err != nil {
		return serving.Plan{}, err
	}
	defer release()
	if m.Plugins == nil {
		return serving.Plan{}, refusal.Unsupported(field, "scripts are not supported by this server")
	}
	return m.Plugins.Plan(ctx, asked.Caller.ID, use)
}

// readyFields are fields of other servers' APIs, which plugins of the ready-made set carry out:
// such a field is one more entry of plugins.
type readyFields struct {
	BannedStrings       json.RawMessage `json:"banned_strings"`                // of TabbyAPI and ik_llama.cpp
	BannedRegex         json.RawMessage `json:"banned_regex"`                  // of ik_llama.cpp
	BannedRegexAnyCase  json.RawMessage `json:"banned_regex_case_insensitive"` // the same
	RepetitionDetection json.RawMessage `json:"repetition_detection"`          // of vLLM
}

// The bounds of banned strings, as the plugin's schema has them.
const (
	maxBanned      = 1000
	maxBannedSize  = 200 // characters
	maxPatterns    = 100
	maxPatternSize = 1000
)

// add adds the plugins that the fields ask for to those that a request lists.
func (f *readyFields) add(uses []serving.PluginUse) ([]serving.PluginUse, error) {
	for _, read := range []func() (serving.PluginUse, error){f.bannedUse, f.repetitionUse} {
		use, err := read()
		if err != nil {
			return nil, err
		}
		if use.Name == "" {
			continue
		}
		if i := slices.IndexFunc(uses, func(u serving.PluginUse) bool { return u.Name == use.Name }); i >= 0 {
			return nil, refusal.Invalid(use.Field, "%s switches plugin %q on, which %s has too: put what it says into that entry's config, and leave the field out", use.Field, use.Name, uses[i].Field)
		}
		uses = append(uses, use)
	}
	return uses, nil
}

// bannedUse makes the use of the plugin that bans texts and patterns; without a name: none is asked
// for.
func (f *readyFields) bannedUse() (use serving.PluginUse, err error) {
	phrases, err := readTexts(f.BannedStrings, "banned_strings", maxBanned, maxBannedSize)
	if err != nil {
		return use, err
	}
	exact, err := readPatterns(f.BannedRegex, "banned_regex", "")
	if err != nil {
		return use, err
	}
	folding, err := readPatterns(f.BannedRegexAnyCase, "banned_regex_case_insensitive", "(?i)")
	if err != nil {
		return use, err
	}
	switch {
	case len(phrases) > 0:
		use.Field = "banned_strings"
	case len(exact) > 0:
		use.Field = "banned_regex"
	case len(folding) > 0:
		use.Field = "banned_regex_case_insensitive"
	default:
		return use, nil
	}
	use.Name, use.Ready = "banned-phrases", true
	use.Config, err = json.Marshal(struct {
		Patterns []string `json:"patterns,omitempty"`
		Phrases  []string `json:"phrases,omitempty"`
	}{append(exact, folding...), phrases})
	return use, err
}

// readTexts reads a text, or a list of texts.
func readTexts(raw json.RawMessage, field string, most, size int) (list []string, err error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of texts", field)
	}
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" }) // clients leave lines empty
	if len(list) > most {
		return nil, refusal.Invalid(field, "%s has %d texts; at most %d are allowed", field, len(list), most)
	}
	for i, text := range list {
		if n := utf8.RuneCountInString(text); n > size {
			return nil, refusal.Invalid(field, "%s has a text of %d characters, number %d; at most %d are allowed", field, n, i+1, size)
		}
	}
	return list, nil
}

// readPatterns reads regular expressions, and puts flags before each.
func readPatterns(raw json.RawMessage, field, flags string) ([]string, error) {
	list, err := readTexts(raw, field, maxPatterns/2, maxPatternSize-len("(?i)"))
	for i, p := range list {
		if _, err := syntax.Parse(p, syntax.Perl); err != nil {
			return nil, refusal.Invalid(field, "%s has %q: %v; its syntax is that of Go and RE2", field, excerpt.Of(p, 80), err)
		}
		list[i] = flags + p
	}
	return list, err
}

// repetitionUse makes the use of the plugin that ends loops; without a name: none is asked for.
func (f *readyFields) repetitionUse() (use serving.PluginUse, err error) {
	const field = "repetition_detection"
	if !IsSet(f.RepetitionDetection) {
		return use, nil
	}
	var p struct {
		Most  int `json:"max_pattern_size"`
		Least int `json:"min_pattern_size"`
		Count int `json:"min_count"`
	}
	if json.Unmarshal(f.RepetitionDetection, &p) != nil {
		return use, refusal.Invalid(field, "%s must be an object with max_pattern_size, min_pattern_size and min_count, which are integers", field)
	}
	switch p.Least = max(p.Least, 1); {
	case p.Most == 0: // as with vLLM
		return use, nil
	case p.Most < p.Least || p.Most > maxLoop:
		return use, refusal.Invalid(field+".max_pattern_size", "%s.max_pattern_size is %d; it must be 0 (no detection), or from min_pattern_size, which is %d, to %d", field, p.Most, p.Least, maxLoop)
	case p.Count < 2 || p.Count > maxLoops/p.Most:
		return use, refusal.Invalid(field+".min_count", "%s.min_count is %d; it must be from 2 to %d, so that it and max_pattern_size make at most %d tokens", field, p.Count, maxLoops/p.Most, maxLoops)
	}
	config := fmt.Sprintf(`{"max_pattern_size":%d,"min_pattern_size":%d,"min_count":%d}`, p.Most, p.Least, p.Count)
	return serving.PluginUse{Name: "repetition-stop", Field: field, Ready: true, Config: json.RawMessage(config)}, nil
}

// The bounds of detected loops, as the plugin's schema has them.
const (
	maxLoop  = 512  // tokens of one time
	maxLoops = 4096 // of all times
)

// Logits changes in place the logits of the token that comes next: one for each token of the
// vocabulary, −Inf where it is impossible. tokens are the prompt and the answer so far; what is
// below 0 among them is a row of a picture or a sound. It keeps neither, and leaves no NaN and no
// +Inf, which samplers do not expect; its error ends the answer. It is code of this process for
// requests that come from this process: no API has it. Calls for one answer never overlap, those
// for several do.
type Logits func(tokens []scheduler.Token, logits []float32) error

// putFirst puts a stage of this process, which lasts, in front of a policy's chain.
func putFirst(s chain.Stage, p serving.Policy) serving.Policy {
	p.Stages = append([]chain.Stage{s}, p.Stages...)
	if renew := p.Renew; renew != nil {
		name := s.Traits().Name
		p.Renew = func(params sampling.Params) ([]chain.Stage, error) {
			stages, err := renew(params)
			return append([]chain.Stage{chain.Keep(name, nil)}, stages...), err
		}
	}
	return p
}

// logits is the function as a stage.
type logits struct {
	change Logits
	tokens []scheduler.Token
}

// Traits implements chain.Stage.
func (*logits) Traits() chain.Traits {
	return chain.Traits{Name: "logits", TakesLong: true, Lasts: true}
}

// Native implements chain.Stage.
func (*logits) Native() bool { return false }

// Apply implements chain.Stage.
func (s *logits) Apply(v *chain.View) error {
	return s.change(s.tokens, v.Row)
}

// Accept implements chain.Stage.
func (s *logits) Accept(t scheduler.Token) (chain.Effect, error) {
	s.tokens = append(s.tokens, t)
	return chain.Effect{}, nil
}

// Reset implements chain.Stage.
func (s *logits) Reset(history []scheduler.Token, _ int) error {
	s.tokens = append(s.tokens[:0], history...)
	return nil
}

// Close implements chain.Stage.
func (*logits) Close() error { return nil }

// mostRows is how many rows of the whole vocabulary a stream keeps for a slow reader: each has up
// to a megabyte.
const mostRows = 16

// checkStates refuses hidden states that the model does not give.
func (p *Prompted) checkStates() error {
	if p.StateLayer == nil {
		return nil
	}
	has, layer := p.Model.States, *p.StateLayer
	switch {
	case has.Width == 0:
		return refusal.Invalid("state_layer", "state_layer asks for hidden states; the model %s, of the architecture %q, gives none beside logits: choose another model", p.Model.Name, p.Model.Weights.Family)
	case layer < 0 || layer > has.Layers:
		return refusal.Invalid("state_layer", "state_layer is %d; it must be from 1 to %d for the model %s, or 0 for its last layer", layer, has.Layers, p.Model.Name)
	}
	return nil
}

// statesName is what the stage of hidden states is called, and its outputs.
const statesName = "hidden_states"

// states is a stage that gives the hidden state of each row that a token is drawn from, before that
// token, as an output with a Row. It leaves the logits as they are.
type states struct {
	layer  int32
	tokens int // of the answer
	given  []chain.Output
}

// Traits implements chain.Stage.
func (s *states) Traits() chain.Traits {
	return chain.Traits{Name: statesName, Lasts: true, TakesRow: true, StateLayer: s.layer, HiddenState: s.tell, Outputs: s.take}
}

// tell is the HiddenState of chain.Traits.
func (s *states) tell(state []float32) {
	if len(state) > 0 {
		s.given = append(s.given, chain.Output{By: statesName, Tokens: s.tokens, Row: slices.Clone(state)})
	}
}

// take is the Outputs of chain.Traits.
func (s *states) take() []chain.Output {
	given := s.given
	s.given = nil
	return given
}

// Native implements chain.Stage.
func (*states) Native() bool { return false }

// TakeRow implements chain.RowTaker. It needs nothing of the row, so none is copied for it.
func (*states) TakeRow(chain.WholeRow) bool { return true }

// Apply implements chain.Stage.
func (*states) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage.
func (s *states) Accept(scheduler.Token) (chain.Effect, error) {
	s.tokens++
	return chain.Effect{}, nil
}

// Reset implements chain.Stage.
func (s *states) Reset(history []scheduler.Token, prompt int) error {
	s.tokens = len(history) - prompt
	return nil
}

// Close implements chain.Stage.
func (*states) Close() error { return nil }
