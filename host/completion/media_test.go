// SPDX-License-Identifier: MIT

package completion_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
)

// A request has the pixels of its pictures, and their memory until it is released.
func TestService_New_Media(t *testing.T) { synctest.Test(t, testMedia) }

func testMedia(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 1000, 1000))); err != nil {
		t.Fatal(err)
	}
	info := servingtest.Info()
	info.Media = media.Abilities{Images: true}
	s := completion.NewService(servingtest.OneModel{Model: &serving.Model{Info: info, Engine: servingtest.Toy{}, Scheduler: servingtest.NoScheduler{}}})
	s.Media = media.NewLoader(media.Options{Pixels: 1 << 20, Memory: 10 << 20}) // for one: its pixels are 3 MB, and decoding takes 5 more
	ask := func(ctx context.Context, contents ...string) (*completion.Request, error) {
		extras := completion.DefaultExtras()
		return s.New(ctx, completion.Request{Extras: &extras, PromptField: "messages"}, func(_ context.Context, r *completion.Request) error {
			c := chat.Conversation{Media: []media.Part{{Field: "f", Kind: media.Image, Base64: true, Source: base64.StdEncoding.EncodeToString(file.Bytes())}}}
			for _, text := range contents {
				c.Messages = append(c.Messages, chat.Message{Role: "user", Content: text})
			}
			r.Converse(c)
			return nil
		})
	}
	if _, err := ask(t.Context(), "no place"); err == nil || !strings.Contains(err.Error(), "places for 0 pictures and sounds, and there are 1") {
		t.Errorf("without a marker: %v", err)
	}
	for range 3 {
		first, err := ask(t.Context(), "a"+media.Marker)
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Media) != 1 || first.Media[0].Hash != sha256.Sum256(file.Bytes()) || first.Media[0].Picture.Width != 1000 {
			t.Fatalf("the request has %d pictures", len(first.Media))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // which passes when all wait
		if _, err := ask(ctx, "a"+media.Marker); err == nil {
			t.Error("a second request does not wait for the memory of the first")
		}
		cancel()
		first.Release()
	}
}
