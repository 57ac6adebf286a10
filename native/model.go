// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "strings"

// Model is a loaded model: its weights and its vocabulary. It is safe for concurrent use.
type Model struct {
	object
	info  ModelInfo
	meta  map[string]string // the file's scalar metadata, as text
	vocab vocabulary
}

// ModelInfo describes a model.
type ModelInfo struct {
	Architecture string
	Name         string // general.name of the file; may be empty
	Parameters   uint64
	Size         uint64 // bytes of all tensors
	ContextTrain int    // positions the model was trained for
	Layers       int
	Embedding    int // width of the residual stream
	EmbeddingIn  int // width of an embedding that a pass takes in place of a token; most often the same
	EmbeddingOut int // width of its embeddings; most often the same
	Pooling      Pooling
	Sampling     map[string]string // the sampling parameters that the file brings, as texts by llama.cpp's names: temp, top_k
	Classes      []string          // what each score of its classifier means; "" where it does not say
	Window       int               // positions of the sliding window; 0 if there is none
	Vocabulary   int               // tokens
	Encoder      bool
	Decoder      bool
	Causal       bool // a token sees only those before it, as generation needs
	Recurrent    bool // it keeps a state and no KV cache, so that a sequence cannot be truncated
	Hybrid       bool // some layers are recurrent
	Diffusion    bool
	FileType     string // of most of the weights, by llama.cpp's name: Q4_0
	VocabType    int    // llama_vocab_type
	AddBOS       bool   // a prompt begins with the token BOS
	AddEOS       bool   // and ends with EOS
	AddSEP       bool   // and SEP stands between two texts
	Special      SpecialTokens
}

// Generates reports whether the model writes text token by token. Others look ahead, fill in
// masks, answer an encoder, speak, or serve another model.
func (i ModelInfo) Generates() bool {
	return i.Decoder && !i.Encoder && !i.Diffusion && i.Causal && !textless[i.Architecture]
}

// textless are architectures that look to llama.cpp like those that write text. The tokens of some
// are sounds, embedders forget what they have read, and drafters need the model for which they
// draft.
var textless = map[string]bool{"qwen3tts": true, "pockettts": true, "wavtokenizer-dec": true, "llama-embed": true, "gemma-embedding": true, "gemma4-assistant": true}

// OwnCells reports whether each sequence can have KV cells of its own. A pass over such cells
// needs padding tokens, which are removed after it; a recurrent state or a sliding window that has
// moved on does not allow that.
func (i ModelInfo) OwnCells() bool { return !i.Recurrent && !i.Hybrid && i.Window == 0 }

// SpecialTokens names tokens by their role; -1 where the vocabulary has none.
type SpecialTokens struct {
	BOS, EOS, EOT, SEP, Newline int32

	// Fill in the middle: they stand before the text that precedes the gap, before the text that
	// follows it, and before what fills it; before the name of a repository and before that of
	// each file.
	FIMPrefix, FIMSuffix, FIMMiddle, FIMRepository, FIMSeparator int32
}

// Info describes the model. It can be asked after Close too.
func (m *Model) Info() ModelInfo { return m.info }

// TokensAtOnce is how many tokens of a pass the kernels of most of the model's weights compute at
// once: 4 for ggml's, which compute groups of four and the rest one by one. It is 1 for
// Penstock's, which compute tokens one by one, and for AMX, where two to sixteen take the same
// time, so that adding some gains nothing.
func (m *Model) TokensAtOnce() int {
	if m.enter() != nil {
		return 1
	}
	defer m.leave()
	return int(C.ps_model_tokens_at_once(m.c()))
}

// ChatTemplate is the source of the template called name, "" for the default; empty if the model
// has none.
func (m *Model) ChatTemplate(name string) (string, error) {
	if err := m.enter(); err != nil {
		return "", err
	}
	defer m.leave()
	cname := C.CString(name)
	defer freeString(cname)
	var e C.ps_error
	var text C.ps_text
	if err := failure(C.ps_model_template(m.c(), cname, &text, &e), &e); err != nil {
		return "", err
	}
	return takeText(&text), nil
}

// samplingOf are the entries of general.sampling.
func samplingOf(meta map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range meta {
		if name, is := strings.CutPrefix(key, "general.sampling."); is {
			own[name] = value
		}
	}
	return own
}

// describe reads everything about the model that never changes, and its vocabulary if it has one.
func (m *Model) describe(vocabulary bool) error {
	var e C.ps_error
	var c C.ps_model_info
	if err := failure(C.ps_model_describe(m.c(), &c, &e), &e); err != nil {
		return err
	}
	meta, err := readMetadata(m.c(), int(c.metadata))
	if err != nil {
		return err
	}
	m.meta = meta
	m.vocab.kind = int(c.vocabulary_type)
	m.info = ModelInfo{
		Architecture: meta["general.architecture"],
		Name:         meta["general.name"],
		Parameters:   uint64(c.parameters),
		Size:         uint64(c.size),
		ContextTrain: int(c.context_train),
		Layers:       int(c.layers),
		Embedding:    int(c.embedding),
		EmbeddingIn:  int(c.embedding_in),
		EmbeddingOut: int(c.embedding_out),
		Pooling:      poolingOf(meta),
		Sampling:     samplingOf(meta),
		Classes:      make([]string, c.classes),
		Window:       int(c.window),
		Vocabulary:   int(c.vocabulary),
		Encoder:      bool(c.encoder),
		Decoder:      bool(c.decoder),
		Causal:       meta[meta["general.architecture"]+".attention.causal"] != "false",
		Recurrent:    bool(c.recurrent),
		Hybrid:       bool(c.hybrid),
		Diffusion:    bool(c.diffusion),
		FileType:     C.GoString(&c.file_type[0]),
		VocabType:    int(c.vocabulary_type),
		AddBOS:       bool(c.add_bos),
		AddEOS:       bool(c.add_eos),
		AddSEP:       bool(c.add_sep),
		Special: SpecialTokens{BOS: int32(c.bos), EOS: int32(c.eos), EOT: int32(c.eot), SEP: int32(c.sep), Newline: int32(c.newline),
			FIMPrefix: int32(c.fim_prefix), FIMSuffix: int32(c.fim_suffix), FIMMiddle: int32(c.fim_middle),
			FIMRepository: int32(c.fim_repository), FIMSeparator: int32(c.fim_separator)},
	}
	for i := range m.info.Classes {
		var label C.ps_text
		if err := failure(C.ps_model_class(m.c(), C.int32_t(i), &label, &e), &e); err != nil {
			return err
		}
		m.info.Classes[i] = takeText(&label)
	}
	if !vocabulary {
		return nil
	}
	return m.vocab.load(m.c(), m.info.Vocabulary)
}

func readMetadata(c *C.ps_model, n int) (map[string]string, error) {
	meta := make(map[string]string, n)
	for i := range n {
		var e C.ps_error
		var key, value C.ps_text
		if err := failure(C.ps_model_metadata(c, C.int32_t(i), &key, &value, &e), &e); err != nil {
			C.ps_text_free(&key)
			return nil, err
		}
		meta[takeText(&key)] = takeText(&value)
	}
	return meta, nil
}

func (m *Model) c() *C.ps_model { return (*C.ps_model)(m.h.c) }
