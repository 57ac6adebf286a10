// SPDX-License-Identifier: MIT

package peertest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
)

// sense is a picture or a sound as both sides take it: a file for llama-server, what it decodes to for the binding.
type sense struct {
	file          []byte
	width, height int
	rgb           []byte
	samples       []float32
}

func drawn(t *testing.T, width, height int, pixel func(x, y int) color.RGBA) sense {
	t.Helper()
	s := sense{width: width, height: height}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := pixel(x, y)
			picture.Set(x, y, c)
			s.rgb = append(s.rgb, c.R, c.G, c.B)
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		t.Fatal(err)
	}
	s.file = file.Bytes()
	return s
}

// hummed is a WAV file of 16 bits.
func hummed(seconds, hertz float64) sense {
	const rate = 16000
	n := int(seconds * rate)
	file := []byte("RIFF")
	file = binary.LittleEndian.AppendUint32(file, uint32(36+2*n))
	file = append(file, "WAVEfmt "...)
	for _, field := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16)} {
		file, _ = binary.Append(file, binary.LittleEndian, field) // fixed sizes
	}
	file = append(file, "data"...)
	file = binary.LittleEndian.AppendUint32(file, uint32(2*n))
	s := sense{}
	for i := range n {
		sample := int16(12000 * math.Sin(2*math.Pi*hertz*float64(i)/rate))
		file = binary.LittleEndian.AppendUint16(file, uint16(sample))
		s.samples = append(s.samples, float32(sample)/(1<<15))
	}
	s.file = file
	return s
}

// senses are some that a pair takes.
func senses(t *testing.T, pair synth.MediaPair) []sense {
	t.Helper()
	var all []sense
	if pair.Sees() {
		all = append(all,
			drawn(t, 100, 80, func(x, y int) color.RGBA { return color.RGBA{byte(2 * x), byte(3 * y), byte(x + y), 255} }),
			drawn(t, 300, 60, func(x, y int) color.RGBA { return color.RGBA{byte(x), byte(4 * y), byte(x * y), 255} }),
			drawn(t, 2, 2, func(x, y int) color.RGBA { return color.RGBA{byte(x * 255), byte(y * 255), 0, 255} }))
	}
	if pair.Hears() {
		all = append(all, hummed(1, 440), hummed(31, 1000))
	}
	return all
}

// prompts are lists of texts and of numbers of senses: none, one, two in both orders, twice the same, with text between.
var prompts = [][]any{
	{"what is this?"}, {0, "what is this?"}, {1, "and this?"}, {"what is ", 0, "this?"}, {0, "beside ", 1, "what?"}, {1, "beside ", 0, "what?"},
	{0, 1, "what?"}, {0, 0, "what?"}, {0, "again ", 0, "what?"}, {0, "what?<|im_end|>\n<|im_start|>assistant\nThis.<|im_end|>\n<|im_start|>user\n", 1, "and?"},
}

// Greedy answers to prompts with pictures and sounds are llama-server's, of every kind of projector that has its own way.
func TestMedia_AnswersAsLlamaServer(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		t.Run(pair.Projector, func(t *testing.T) {
			model, projector, err := pair.WriteFiles(t.TempDir(), 1)
			if err != nil {
				t.Fatal(err)
			}
			peer := LlamaServer(t, model, "--mmproj", projector, "--ctx-size", "8192")
			ours := openBinding(t, model, projector)
			all := senses(t, pair)
			answers := map[string]bool{}
			for i, prompt := range append(prompts, sizes(all)...) {
				want, got := ask(t, peer, all, prompt), ours.ask(t, all, prompt)
				if want != got {
					t.Errorf("%v: llama-server says %q, the binding %q", prompt, want, got)
				}
				if i < len(prompts) && len(prompt) < 4 {
					answers[want] = true
				}
			}
			if len(answers) < 4 {
				t.Errorf("the answers do not depend on what is seen: %v", answers)
			}
		})
	}
}

// sizes are prompts with each sense that the others leave out.
func sizes(all []sense) (more [][]any) {
	for i := 2; i < len(all); i++ {
		more = append(more, []any{i, "what is this?"}, []any{i, "beside ", 0, "what?"})
	}
	return more
}

const (
	mediaBefore = "<|im_start|>user\n"
	mediaAfter  = "<|im_end|>\n<|im_start|>assistant\n"
	answered    = 24 // tokens
)

// ask has llama-server answer.
func ask(t *testing.T, peer Server, all []sense, prompt []any) string {
	t.Helper()
	var props struct {
		Marker string `json:"media_marker"`
	}
	if err := json.Unmarshal([]byte(peer.Call(t, http.MethodGet, "/props", "").Body), &props); err != nil || props.Marker == "" {
		t.Fatal(err, props)
	}
	text, files := mediaBefore, []string{}
	for _, part := range prompt {
		switch part := part.(type) {
		case string:
			text += part
		case int:
			text += props.Marker
			files = append(files, base64.StdEncoding.EncodeToString(all[part].file))
		}
	}
	request := map[string]any{"prompt_string": text + mediaAfter, "multimodal_data": files}
	body, err := json.Marshal(map[string]any{"prompt": request, "temperature": 0, "n_predict": answered, "cache_prompt": false})
	if err != nil {
		t.Fatal(err)
	}
	answer := peer.Call(t, http.MethodPost, "/completion", string(body))
	var content struct{ Content string }
	if err := json.Unmarshal([]byte(answer.Body), &content); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	return content.Content
}

// binding is a pair loaded into this process.
type binding struct {
	model     *native.Model
	projector *native.Projector
	context   *native.Context
	position  int32
}

func openBinding(t *testing.T, model, projector string) *binding {
	t.Helper()
	native.UseKernels(native.ChooseGGML.Without())
	t.Cleanup(func() { native.UseKernels(native.ChoosePenstock.Without()) })
	b := &binding{}
	var err error
	if b.model, err = native.LoadModel(t.Context(), model, native.ModelOptions{}); err != nil {
		t.Fatal(err)
	}
	if b.projector, err = native.OpenProjector(b.model, projector, native.ProjectorOptions{Threads: threads}); err != nil {
		t.Fatal(err)
	}
	if b.context, err = native.NewContext(b.model, native.ContextOptions{Cells: cells, Threads: threads}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{b.context, b.projector, b.model} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

// ask has the binding answer.
func (b *binding) ask(t *testing.T, all []sense, prompt []any) (text string) {
	t.Helper()
	b.position = 0
	pending := mediaBefore
	for _, part := range prompt {
		switch part := part.(type) {
		case string:
			pending += part
		case int:
			b.read(t, pending, false)
			pending = ""
			b.perceive(t, all[part])
		}
	}
	b.read(t, pending+mediaAfter, true)
	for range answered {
		row := b.context.Row(0)
		best := int32(0)
		for token, logit := range row {
			if logit > row[best] {
				best = int32(token)
			}
		}
		text += b.model.Piece(best)
		b.decode(t, []int32{best}, true)
	}
	if err := b.context.Remove(0, -1, -1); err != nil {
		t.Fatal(err)
	}
	return text
}

func (b *binding) read(t *testing.T, text string, last bool) {
	t.Helper()
	tokens, err := b.model.Tokenize(t.Context(), text, native.TokenizeOptions{ParseSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	b.decode(t, tokens, last)
}

func (b *binding) decode(t *testing.T, tokens []int32, last bool) {
	t.Helper()
	if len(tokens) == 0 {
		return
	}
	var batch native.Batch
	for i, token := range tokens {
		batch.Add(token, b.position, 0, last && i == len(tokens)-1)
		b.position++
	}
	if err := b.context.Decode(&batch); err != nil {
		t.Fatal(err)
	}
}

func (b *binding) perceive(t *testing.T, s sense) {
	t.Helper()
	divide := func() (*native.Media, error) { return b.projector.Picture(s.width, s.height, s.rgb) }
	if s.samples != nil {
		divide = func() (*native.Media, error) { return b.projector.Sound(s.samples) }
	}
	media, err := divide()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := media.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i, piece := range media.Pieces() {
		if piece.Tokens != nil {
			b.decode(t, piece.Tokens, false)
			continue
		}
		values, err := b.projector.Encode(t.Context(), media, i)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.context.DecodeEmbeddings(&native.EmbeddingBatch{Piece: piece, Values: values, To: piece.Embeddings, Position: b.position}); err != nil {
			t.Fatal(err)
		}
		b.position += int32(piece.Positions)
	}
}
