// SPDX-License-Identifier: MIT

package sampling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/integer"
)

// Constraint is what an answer must look like. At most one of Grammar, JSONSchema, Regex and
// Format is set.
type Constraint struct {
	Grammar    string          // GBNF with the rule "root", or %llguidance and Lark's notation with "start"; empty: none
	JSONSchema json.RawMessage // the answer is JSON that the schema allows; empty: none
	Regex      string          // the whole answer matches it, in Go's syntax; empty: none

	Format *peg.Format // a chat template's format, with its tools' schemas and the answer's; nil: none

	Schemas schema.Options // how JSONSchema is read

	GrammarOfFormat bool      // Grammar begins with Params.GenerationPrompt; so do a format and a JSON schema
	GrammarLazy     bool      // the constraint holds from the first trigger on
	GrammarTriggers []Trigger // of a lazy constraint; at least one

	Ready Ready // what an engine has made of it, which all answers of a request share; nil: nothing yet
}

// Ready is what an engine has made of a constraint. An engine uses it again after Release, too, but
// then it may have to make it anew.
type Ready interface{ Release() }

// Release ends the use of what an engine has prepared.
func (c Constraint) Release() {
	if c.Ready != nil {
		c.Ready.Release()
	}
}

// IsSet reports whether there is a constraint.
func (c Constraint) IsSet() bool {
	return c.Grammar != "" || len(c.JSONSchema) > 0 || c.Regex != "" || c.Format != nil
}

// Field is the name of the field that has the constraint.
func (c Constraint) Field() string {
	switch {
	case len(c.JSONSchema) > 0:
		return "json_schema"
	case c.Regex != "":
		return "regex"
	}
	return "grammar"
}

// IsConstraint reports whether a field has a constraint.
func IsConstraint(field string) bool {
	return field == "grammar" || field == "json_schema" || field == "regex"
}

// Size is how many bytes there are to convert.
func (c Constraint) Size() int {
	n := len(c.Grammar) + len(c.JSONSchema) + len(c.Regex)
	for _, t := range c.GrammarTriggers {
		n += len(t.Value)
	}
	if c.Format != nil {
		n += c.Format.Size()
	}
	return n
}

// TriggerKind is what wakes a lazy grammar. The numbers are llama-server's.
type TriggerKind int

// The kinds of triggers.
const (
	TriggerToken       TriggerKind = iota // a token; the grammar begins with it
	TriggerWord                           // a text; the grammar begins with its first occurrence
	TriggerPattern                        // a regular expression; the grammar begins with its first group, or with its match
	TriggerPatternFull                    // the same for all of the text
)

// Trigger wakes a lazy grammar.
type Trigger struct {
	Kind  TriggerKind
	Value string
	Token int32 // of a TriggerToken
}

// maxTriggers and maxTriggerValue bound the work for each token while a grammar sleeps.
const (
	maxTriggers     = 1024
	maxTriggerValue = 4 << 10 // bytes
)

// UnmarshalJSON reads llama-server's object: {"type": 0 to 3, "value": "…", "token": 5}.
func (t *Trigger) UnmarshalJSON(raw []byte) error {
	var o struct {
		Type  *int   `json:"type"`
		Value string `json:"value"`
		Token *int32 `json:"token"`
	}
	switch err := integer.Unmarshal(raw, &o); {
	case err != nil || o.Type == nil || *o.Type < int(TriggerToken) || *o.Type > int(TriggerPatternFull):
		return invalid("grammar_triggers", string(raw), `{"type": 0, "token": N} or {"type": 1 (word), 2 (pattern) or 3 (full pattern), "value": "…"}`)
	case TriggerKind(*o.Type) == TriggerToken && o.Token == nil:
		return invalid("grammar_triggers", string(raw), `{"type": 0, "token": N}, with the token's number`)
	}
	*t = Trigger{Kind: TriggerKind(*o.Type), Value: o.Value}
	if t.Kind == TriggerToken {
		t.Token = *o.Token
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (t Trigger) MarshalJSON() ([]byte, error) {
	o := map[string]any{"type": int(t.Kind), "value": t.Value}
	if t.Kind == TriggerToken {
		o["token"] = t.Token
	}
	return json.Marshal(o)
}

func (c Constraint) validate(v Vocabulary) error {
	if n := len(c.GrammarTriggers); n > maxTriggers {
		return invalid("grammar_triggers", n, fmt.Sprintf("at most %d triggers", maxTriggers))
	}
	if c.GrammarLazy && c.IsSet() && len(c.GrammarTriggers) == 0 {
		return invalid("grammar_triggers", "[]", "a list of at least one trigger, because grammar_lazy is true")
	}
	for i, t := range c.GrammarTriggers {
		field := "grammar_triggers[" + strconv.Itoa(i) + "]"
		switch {
		case t.Kind == TriggerToken && (t.Token < 0 || int(t.Token) >= v.Size()):
			return invalid(field+".token", t.Token, "a token from 0 to "+strconv.Itoa(v.Size()-1))
		case t.Kind == TriggerWord && t.Value == "":
			return invalid(field+".value", t.Value, "a word")
		case len(t.Value) > maxTriggerValue:
			return invalid(field+".value", t.Value, fmt.Sprintf("at most %d bytes", maxTriggerValue))
		}
	}
	return nil
}

// constraintFields are a Constraint as it stands in a JSON object. One that names a constraint
// replaces the one before and its triggers; one that leaves it out keeps it.
type constraintFields struct {
	Grammar    *string         `json:"grammar"`
	JSONSchema json.RawMessage `json:"json_schema"`
	Regex      *string         `json:"regex"`
	schemaFields

	GrammarType     *string         `json:"grammar_type"` // "tool_calls": Constraint.GrammarOfFormat
	GrammarLazy     *bool           `json:"grammar_lazy"`
	GrammarTriggers json.RawMessage `json:"grammar_triggers"`
}

func (f constraintFields) constraint(base Constraint) (Constraint, error) {
	c, text := base, f.JSONSchema
	if isNull(text) {
		text = nil
	}
	if f.Grammar != nil || f.Regex != nil || len(text) > 0 {
		c = Constraint{Grammar: value(f.Grammar), JSONSchema: text, Regex: value(f.Regex)}
		if err := c.onlyOne(); err != nil {
			return c, err
		}
	}
	var err error
	if c.Schemas, err = f.options(base.Schemas); err != nil {
		return c, err
	}
	if f.GrammarType != nil {
		c.GrammarOfFormat = *f.GrammarType == "tool_calls"
	}
	if f.GrammarLazy != nil {
		c.GrammarLazy = *f.GrammarLazy
	}
	if f.GrammarLazy != nil || !isNull(f.GrammarTriggers) || f.GrammarType != nil || c.Schemas != base.Schemas {
		c.Ready = nil
	}
	if isNull(f.GrammarTriggers) {
		return c, nil
	}
	var malformed *Invalid
	c.GrammarTriggers = nil
	if err := json.Unmarshal(f.GrammarTriggers, &c.GrammarTriggers); err != nil && !errors.As(err, &malformed) {
		malformed = &Invalid{Field: "grammar_triggers", Value: excerpt.Of(string(f.GrammarTriggers), longest), Want: "a list of triggers"}
	}
	if malformed != nil {
		return c, malformed
	}
	return c, nil
}

// onlyOne refuses a constraint of several kinds.
func (c Constraint) onlyOne() error {
	first := ""
	for _, each := range []Constraint{{Grammar: c.Grammar}, {JSONSchema: c.JSONSchema}, {Regex: c.Regex}} {
		switch {
		case !each.IsSet():
		case first == "":
			first = each.Field()
		default:
			return Refused(each.Field(), "%s cannot be used together with %s; leave one of them out", each.Field(), first)
		}
	}
	return nil
}

func isNull(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text == "" || text == "null"
}

func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// Orders are what property_order may be.
var Orders = []string{"auto", "schema", "any"}

// orders are those, by their names.
var orders = map[string]schema.Order{"auto": schema.ByKind, "schema": schema.SchemaOrder, "any": schema.AnyOrder}

// Spacings are what white_space may be: some that many people write, or none.
var Spacings = []string{"free", "compact"}

// SchemaOptions are how schemas are read by the words of a request.
func SchemaOptions(order string, additional bool, spacing string) schema.Options {
	return schema.Options{Order: orders[order], Closed: !additional, Compact: spacing == "compact"}
}

// schemaFields are how JSON schemas are read, as it stands in a JSON object. What the object
// leaves out keeps its value.
type schemaFields struct {
	PropertyOrder        *string `json:"property_order"`
	AdditionalProperties *bool   `json:"additional_properties"` // false: members are only those that properties lists, where a schema says nothing of others
	WhiteSpace           *string `json:"white_space"`
	Strict               *bool   `json:"strict"` // false: what of a schema cannot be enforced is left out
}

func (f schemaFields) options(base schema.Options) (schema.Options, error) {
	o := base
	if f.PropertyOrder != nil {
		if !slices.Contains(Orders, *f.PropertyOrder) {
			return o, invalid("property_order", *f.PropertyOrder, oneOf(Orders))
		}
		o.Order = orders[*f.PropertyOrder]
	}
	if f.AdditionalProperties != nil {
		o.Closed = !*f.AdditionalProperties
	}
	if f.WhiteSpace != nil {
		if !slices.Contains(Spacings, *f.WhiteSpace) {
			return o, invalid("white_space", *f.WhiteSpace, oneOf(Spacings))
		}
		o.Compact = *f.WhiteSpace == "compact"
	}
	if f.Strict != nil {
		o.Loose = !*f.Strict
	}
	return o, nil
}

func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Thinking is how the thinking of a model begins and ends, and how long it may be. Without tags
// nothing is known of it.
type Thinking struct {
	Budget   int      // tokens of thinking; then Message and the first of EndTags are forced. Negative: as many as the model wants
	StartTag string   // thinking begins behind it
	EndTags  []string // and ends with any of these
	Message  string   // comes before the end that is forced
}

// IsKnown reports whether thinking can be told from the answer.
func (t Thinking) IsKnown() bool { return t.StartTag != "" && len(t.EndTags) > 0 }

const (
	maxEndTags   = 16
	maxTagLength = 1 << 10  // bytes
	maxMessage   = 16 << 10 // bytes
)

func (t Thinking) validate() error {
	if err := checkBudget("reasoning_budget_tokens", t.Budget); err != nil {
		return err
	}
	switch {
	case len(t.StartTag) > maxTagLength:
		return invalid("reasoning_budget_start_tag", t.StartTag, fmt.Sprintf("at most %d bytes", maxTagLength))
	case len(t.EndTags) > maxEndTags:
		return invalid("reasoning_budget_end_tags", len(t.EndTags), fmt.Sprintf("at most %d tags", maxEndTags))
	case len(t.Message) > maxMessage:
		return invalid("reasoning_budget_message", t.Message, fmt.Sprintf("at most %d bytes", maxMessage))
	}
	for _, tag := range t.EndTags {
		if tag == "" || len(tag) > maxTagLength {
			return invalid("reasoning_budget_end_tags", tag, fmt.Sprintf("texts of 1 to %d bytes", maxTagLength))
		}
	}
	return nil
}

func checkBudget(field string, tokens int) error {
	if tokens < -1 || tokens > math.MaxInt32 {
		return invalid(field, tokens, fmt.Sprintf("an integer from -1 (no limit) to %d", math.MaxInt32))
	}
	return nil
}

// thinkingFields are a Thinking as it stands in a JSON object. What the object leaves out keeps
// its value.
type thinkingFields struct {
	ReasoningBudget        *int            `json:"reasoning_budget_tokens"`
	ThinkingBudget         *int            `json:"thinking_budget_tokens"` // another name
	ThinkingTokenBudget    *int            `json:"thinking_token_budget"`  // vLLM's name
	ReasoningBudgetStart   *string         `json:"reasoning_budget_start_tag"`
	ReasoningBudgetEnds    json.RawMessage `json:"reasoning_budget_end_tags"`
	ReasoningBudgetEnd     *string         `json:"reasoning_budget_end_tag"` // one of them
	ReasoningBudgetMessage *string         `json:"reasoning_budget_message"`
}

func (f thinkingFields) thinking(base Thinking) (Thinking, error) {
	t := base
	if f.ThinkingTokenBudget != nil {
		t.Budget = *f.ThinkingTokenBudget
		if err := checkBudget("thinking_token_budget", t.Budget); err != nil {
			return t, err
		}
	}
	if f.ThinkingBudget != nil {
		t.Budget = *f.ThinkingBudget
		if err := checkBudget("thinking_budget_tokens", t.Budget); err != nil {
			return t, err
		}
	}
	if f.ReasoningBudget != nil {
		t.Budget = *f.ReasoningBudget
	}
	if f.ReasoningBudgetStart != nil {
		t.StartTag = *f.ReasoningBudgetStart
	}
	if f.ReasoningBudgetMessage != nil {
		t.Message = *f.ReasoningBudgetMessage
	}
	if f.ReasoningBudgetEnd != nil && *f.ReasoningBudgetEnd != "" {
		t.EndTags = []string{*f.ReasoningBudgetEnd}
	}
	if isNull(f.ReasoningBudgetEnds) {
		return t, nil
	}
	t.EndTags = nil
	if err := json.Unmarshal(f.ReasoningBudgetEnds, &t.EndTags); err != nil {
		return t, invalid("reasoning_budget_end_tags", string(f.ReasoningBudgetEnds), "a list of texts")
	}
	return t, nil
}
