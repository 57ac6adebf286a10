// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Request is the request that the plugin serves.
type Request struct {
	// Config is the request's configuration for this plugin, an object. The host has checked it
	// against the manifest's schema, and filled in the schema's defaults.
	Config       json.Value
	PromptTokens int    // tokens of the prompt
	MaxTokens    int    // tokens to generate at most; 0: the request sets no limit, and the answer may go on until the context is full
	ContextSize  int    // tokens, prompt included, that the model can take
	Seed         uint64 // of the choice that this plugin serves
	Time         int64  // when the request came, in milliseconds since 1970 (UTC), for time.UnixMilli; 0 on a host that does not tell
	Choice       int    // which of the answers to its prompt this one is, from 0
	Choices      int    // how many there are: a request's n; 1 on a host that does not tell
}

// Sampling is the request's sampling parameters, an object with the names of a request's body, such
// as temperature and top_k. A client may change them while it reads the answer; each call returns
// the current ones. It is Null on a host without this function.
func (r *Request) Sampling() json.Value { return askRequest("sampling") }

// Model describes the model: an object with name, architecture, description, digest, parameters,
// size_bytes, vocabulary_size, context_train, embedding_size and layers. Unknown members are
// missing. It is Null on a host without this function.
func (r *Request) Model() json.Value { return askRequest("model") }

// Messages is the conversation as the plugin's Rewrite got it, for a plugin that has Filter, too,
// and puts back into the answer what it has replaced. It is empty in other plugins, and if the
// request has no messages.
func (r *Request) Messages() ([]Message, error) {
	text := readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) })
	if len(text) == 0 {
		return nil, nil
	}
	return parseMessages(text)
}

// Call is a call of the host that a plugin can decline for a request, or leave out of a plan, by
// the method that it is of.
type Call string

// The calls that can be declined, and left out of plans. CallSample is of SampleRow, too.
// CallRender and CallRun can only be left out of plans.
const (
	CallRewrite Call = "penstock_messages"
	CallPrepare Call = "penstock_prepare"
	CallSample  Call = "penstock_sample"
	CallAccept  Call = "penstock_accept"
	CallDraft   Call = "penstock_draft"
	CallStop    Call = "penstock_stop"
	CallFilter  Call = "penstock_filter"
	CallRewind  Call = "penstock_rewind"
	CallClose   Call = "penstock_close"
	CallRender  Call = "penstock_template"
	CallRun     Call = "penstock_run"
)

var errDecline = errors.New("the host does not let this call be declined here")

// Decline has the host go on, in this request, as if the plugin did not have these methods, so that
// they cost nothing. It is to be called in Open; the error says that it was not. On a host without
// this function the methods are called nevertheless.
func (r *Request) Decline(calls ...Call) error {
	if !Feature("decline") {
		return nil
	}
	for _, c := range calls {
		if abi.Decline(unsafe.Pointer(unsafe.StringData(string(c))), int32(len(c))) != abi.DeclineOk {
			return errDecline
		}
	}
	return nil
}

var errHold = errors.New("the host does not let so many tokens be held here: the manifest's Hold is the most")

// Hold says how many of the last tokens the plugin may take back in this request, at most as many
// as the manifest's Hold: the stream runs so far behind. It is to be called in Open; the error says
// that it was not, or that tokens is more. On a host without this function the manifest's Hold
// stays in force.
func (r *Request) Hold(tokens int) error {
	if Feature("hold") && abi.Hold(int32(tokens)) != abi.HoldOk {
		return errHold
	}
	return nil
}

func askRequest(what string) json.Value {
	if !Feature("request") {
		return json.Value{}
	}
	v, _ := json.Parse(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Request(p, limit) })) // the host writes JSON
	return v.Get(what)
}

var errDefaults = errors.New("this host does not fill in a configuration's defaults, which the plugin relies on: it needs a newer one")

func readConfig() (json.Value, error) {
	if hasDefault(manifest.ConfigSchema) && !Feature("config_defaults") {
		return json.Value{}, errDefaults
	}
	return json.Parse(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Config(p, limit) }))
}

func readRequest() (*Request, error) {
	config, err := readConfig()
	if err != nil {
		return nil, err
	}
	return &Request{
		Config:       config,
		PromptTokens: int(abi.Param(abi.ParamPromptTokens)),
		MaxTokens:    int(abi.Param(abi.ParamMaxTokens)),
		ContextSize:  int(abi.Param(abi.ParamContextSize)),
		Seed:         uint64(abi.Param(abi.ParamSeed)),
		Time:         max(0, abi.Param(abi.ParamTime)),
		Choice:       max(0, int(abi.Param(abi.ParamChoice))),
		Choices:      max(1, int(abi.Param(abi.ParamChoices))),
	}, nil
}

// hasDefault is strings.Contains(schema, `"default"`), which is larger.
func hasDefault(schema string) bool {
	const word = `"default"`
	for i := 0; i+len(word) <= len(schema); i++ {
		if schema[i:i+len(word)] == word {
			return true
		}
	}
	return false
}

// readText reads a text of the host. It asks with a small buffer first, and again with the right
// one where that does not fit. TinyGo cannot pass an import itself as a function.
func readText(from func(unsafe.Pointer, int32) int32) []byte {
	text := make([]byte, 512)
	for {
		n := from(unsafe.Pointer(&text[0]), int32(len(text)))
		if int(n) <= len(text) {
			return text[:n]
		}
		text = make([]byte, n)
	}
}

// Feature reports whether the host has an import, an export or a feature of the ABI with this name.
// The functions of this package work on every host; ask before calling an import of your own, and
// declare that under "//go:wasmimport penstock-optional NAME".
func Feature(name string) bool {
	return abi.Feature(unsafe.Pointer(unsafe.StringData(name)), int32(len(name))) == 1
}

// Message is one message of a conversation.
type Message struct {
	Role    string     // system, developer, user, assistant or tool
	Content string     // its text; the parts of a message that has several, joined
	Value   json.Value // the whole message, for what else it has
}

var errList = errors.New("messages must be a list of objects with role and content")

func render(r Renderer) int32 {
	conversation, err := parseMessages(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) }))
	if err != nil {
		return refuse(err)
	}
	text, err := r.Render(conversation)
	if err != nil {
		return refuse(err)
	}
	abi.Emit(unsafe.Pointer(unsafe.StringData(text)), int32(len(text)))
	return 0
}

func rewrite(r Rewriter) int32 {
	conversation, err := parseMessages(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) }))
	if err != nil {
		return refuse(err)
	}
	if conversation, err = r.Rewrite(conversation); err != nil {
		return refuse(err)
	}
	text, err := writeMessages(conversation)
	if err != nil {
		return refuse(err)
	}
	emit(text)
	return 0
}

// writeMessages writes a conversation as JSON.
func writeMessages(conversation []Message) (text []byte, err error) {
	text = []byte{'['}
	for i := range conversation {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = conversation[i].append(text); err != nil {
			return nil, err
		}
	}
	return append(text, ']'), nil
}

// ErrPromptText means that there is no prompt text: either the model's template refuses the
// messages, and the log has the reason, or the host is too old.
var ErrPromptText = errors.New("the model's template makes no prompt of these messages, or the host does not tell")

// PromptText is, in Rewrite and Render, the text that the model's own template would make from a
// conversation, with the request's other parts such as its tools. Nil is the conversation that the
// plugin got.
func PromptText(conversation []Message) (string, error) {
	if !Feature("prompt") {
		return "", ErrPromptText
	}
	var messages []byte
	if conversation != nil {
		var err error
		if messages, err = writeMessages(conversation); err != nil {
			return "", err
		}
	}
	refused := false
	text := readText(func(p unsafe.Pointer, limit int32) int32 {
		n := abi.Prompt(unsafe.Pointer(unsafe.SliceData(messages)), int32(len(messages)), p, limit)
		refused = n < 0
		return max(n, 0)
	})
	if refused {
		return "", ErrPromptText
	}
	return string(text), nil
}

// others are the members of a message besides role and content.
var others = [...]string{"reasoning_content", "name", "tool_calls", "tool_call_id"}

// append writes the message as JSON: role and content as they are now, and the other members
// unchanged.
func (m *Message) append(b []byte) (_ []byte, err error) {
	b = json.AppendText(append(b, `{"role":`...), m.Role)
	b = json.AppendText(append(b, `,"content":`...), m.Content)
	for _, name := range others {
		if v := m.Value.Get(name); v.Kind() != json.Null {
			b = append(json.AppendText(append(b, ','), name), ':')
			if b, err = json.Append(b, v); err != nil {
				return nil, err
			}
		}
	}
	return append(b, '}'), nil
}

// parseMessages reads the messages. Content may be a text or a list of parts; parts without a text
// are skipped.
func parseMessages(text []byte) ([]Message, error) {
	list, err := json.Parse(text)
	if err != nil {
		return nil, err
	}
	if list.Kind() != json.List {
		return nil, errList
	}
	conversation := make([]Message, 0, list.Len())
	for i := range list.Len() {
		m := list.At(i)
		role, content := m.Get("role"), m.Get("content")
		if role.Kind() != json.Text {
			return nil, errList
		}
		said := content.Text()
		for j := range content.Len() {
			said += content.At(j).Get("text").Text()
		}
		conversation = append(conversation, Message{role.Text(), said, m})
	}
	return conversation, nil
}

// MediaToken represents each row of a picture or a sound in History and Branch.Tokens. It is in no
// vocabulary, has no text and cannot be generated.
const MediaToken Token = 1<<32 - 1

// Types of Media.
const (
	Image = "image"
	Audio = "audio"
)

// Media describes a picture or a sound. A plugin does not get its content.
type Media struct {
	Type          string  // Image or Audio
	Marker        string  // stands for it in the texts of a conversation; empty outside of Rewrite and Render
	Hash          string  // SHA-256 of the file, in hexadecimal digits
	Width, Height int     // pixels, of an image
	Seconds       float64 // of a sound
	Bytes         int     // of the file
	Tokens        int     // of the prompt that stand for it, with those that the model expects around it
	At            int     // index in History of the first of these; -1 in Rewrite and Render
}

// RequestMedia are the pictures and sounds of the prompt, in their order. In Rewrite and Render
// they are those of the conversation, each once. There are none on a host without pictures.
func RequestMedia() []Media {
	if !Feature("media") {
		return nil
	}
	list, err := json.Parse(readText(func(p unsafe.Pointer, limit int32) int32 { return abi.Media(p, limit) }))
	if err != nil {
		return nil
	}
	return readMedia(list)
}

// Media are the pictures and sounds of a message, in their order, as the plugin got it. Content
// contains their markers: if a marker is removed, the model does not see that picture.
func (m *Message) Media() []Media { return readMedia(m.Value.Get("content")) }

// readMedia are the pictures and sounds among parts of a content.
func readMedia(parts json.Value) (all []Media) {
	for i := range parts.Len() {
		p := parts.At(i)
		t := p.Get("type").Text()
		if t != Image && t != Audio {
			continue
		}
		at := -1
		if v := p.Get("at"); v.Kind() == json.Number {
			at = v.Int()
		}
		all = append(all, Media{Type: t, Marker: p.Get("text").Text(), Hash: p.Get("hash").Text(), Width: p.Get("width").Int(), Height: p.Get("height").Int(),
			Seconds: p.Get("seconds").Float(), Bytes: p.Get("bytes").Int(), Tokens: p.Get("tokens").Int(), At: at})
	}
	return all
}
