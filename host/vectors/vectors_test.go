// SPDX-License-Identifier: MIT

package vectors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"image"
	"image/png"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

func TestTruncate_LeavesWhatEndsATextThere(t *testing.T) {
	for _, c := range []struct {
		name           string
		tokens, around []int32
		want           []int32
	}{
		{"BERT's ends with [SEP]", []int32{101, 1, 2, 3, 4, 102}, []int32{101, 102}, []int32{101, 1, 2, 102}},
		{"Llama's only begin with one", []int32{7, 1, 2, 3, 4}, []int32{7}, []int32{7, 1, 2, 3}},
		{"some have none", []int32{1, 2, 3, 4, 5}, nil, []int32{1, 2, 3, 4}},
		{"tokens of the client's own", []int32{1, 2, 3, 4, 5}, []int32{101, 102}, []int32{1, 2, 3, 4}},
	} {
		if got := truncateTokens(c.tokens, 4, c.around); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// spelled is a backend that gives each token of a text as its vector. The tokens are its bytes.
type spelled struct{ computed atomic.Int64 }

func (*spelled) Limits() embedding.Limits {
	return embedding.Limits{Inputs: 8, Tokens: 100, Input: 100, Width: 1}
}
func (*spelled) Pause()       {}
func (*spelled) Resume()      {}
func (*spelled) Close() error { return nil }

func (s *spelled) Compute(inputs [][]int32, visit func(int, []float32)) error {
	s.computed.Add(int64(len(inputs)))
	for i, input := range inputs {
		for _, token := range input {
			visit(i, []float32{float32(token)})
		}
	}
	return nil
}

func (*spelled) Tokenize(_ context.Context, text string, _, _ bool) (tokens []int32, _ error) {
	for _, b := range []byte(text) {
		tokens = append(tokens, int32(b))
	}
	return tokens, nil
}

func (*spelled) Pair(context.Context, string, string) ([]int32, error) { panic("nobody scores") }

// newRig is a service with a model that embeds and sees.
func newRig(t *testing.T) (*completion.Service, *spelled) {
	backend := &spelled{}
	service := embedding.New(embedding.Options{Open: func() (embedding.Backend, error) { return backend, nil }, QueueLimit: 4})
	must.Close(t, service)
	info := servingtest.Info()
	info.Media = media.Abilities{Images: true}
	s := completion.NewService(servingtest.OneModel{Model: &serving.Model{Info: info, MediaEncoder: &servingtest.MediaEncoder{Table: piece.NewTable()},
		Embeddings: &embedding.Model{Service: service, Text: backend, Vocabulary: 256, OneVector: embedding.PoolingLast, Normalize: embedding.NormalizeNone}}})
	s.Media = media.NewLoader(media.Bounds{Pixels: 1 << 20, Sound: time.Minute, Memory: 1 << 24})
	return s, backend
}

// collect reads rows of one number as a text, as far as they come.
func collect(rows iter.Seq2[[]float32, error]) (text string, err error) {
	var b strings.Builder
	for row, err := range rows {
		if err != nil {
			return b.String(), err
		}
		b.WriteByte(byte(row[0]))
	}
	return b.String(), nil
}

func TestStream_OneRowForEachText(t *testing.T) {
	s, _ := newRig(t)
	want := strings.Repeat("how the frog jumps", 20)
	texts := strings.Split(want, "")
	got, err := collect(Stream(t.Context(), s, EmbeddingRequest{OneVector: true}, slices.Values(texts)))
	if err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestStream_OneRowForEachToken(t *testing.T) {
	s, _ := newRig(t)
	got, err := collect(Stream(t.Context(), s, EmbeddingRequest{EachToken: true}, slices.Values([]string{"how ", "the ", "frog"})))
	if err != nil || got != "how the frog" {
		t.Errorf("%q, %v", got, err)
	}
}

// Texts without an end are no more than is read, waits to be read, and is computed at once.
func TestStream_Left_Ends(t *testing.T) {
	s, backend := newRig(t)
	asked, read := 0, 0
	letters := func(yield func(string) bool) {
		for yield("a") {
			asked++
		}
	}
	for _, err := range Stream(t.Context(), s, EmbeddingRequest{OneVector: true}, letters) {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 10 {
			break
		}
	}
	if most := read + 2*mostRows; asked > most || backend.computed.Load() > int64(most) {
		t.Errorf("%d rows were read, %d texts asked for, %d computed", read, asked, backend.computed.Load())
	}
}

// What is wrong with a text is told after the rows of those before it, with its place.
func TestStream_Error_NamesThePlace(t *testing.T) {
	s, _ := newRig(t)
	got, err := collect(Stream(t.Context(), s, EmbeddingRequest{OneVector: true}, slices.Values([]string{"a", "b", "c", "", "e"})))
	var refused *refusal.RequestError
	if got != "abc" || !errors.As(err, &refused) || refused.Field != "texts[3:]" {
		t.Errorf("%q, then %v", got, err)
	}
}

func TestEncode_GivesTheRowsOfAPicture(t *testing.T) {
	s, _ := newRig(t)
	var file bytes.Buffer
	must.Do(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 8))))
	hash := sha256.Sum256(file.Bytes())
	read := func() (rows [][]float32) {
		for row, err := range Encode(t.Context(), s, completion.Caller{}, "frog.png", file.Bytes()) {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		return rows
	}
	rows := read()
	if len(rows) != 2+int(hash[0])%5 { // as the toy has them
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		clear(row) // they are the reader's own
	}
	if again := read(); !slices.ContainsFunc(again, func(row []float32) bool { return slices.Max(row) != 0 || slices.Min(row) != 0 }) {
		t.Error("a reader's change is in what others read")
	}
	var refused *refusal.RequestError
	_, err := collect(Encode(t.Context(), s, completion.Caller{}, "frog.txt", []byte("a frog")))
	if !errors.As(err, &refused) || refused.Field != "frog.txt" {
		t.Errorf("a text: %v", err)
	}
}
