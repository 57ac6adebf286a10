// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"strings"

	"github.com/penstock/penstock/native"
)

// Pair is the prompt by which a classifier scores a document for a query: the model's own template
// for that, or both texts with the tokens around them that the vocabulary asks for.
func (e *Embedder) Pair(ctx context.Context, query, document string) ([]int32, error) {
	return pair(ctx, e.model, query, document)
}

// Pair does what Embedder.Pair does.
func (e *Engine) Pair(ctx context.Context, query, document string) ([]int32, error) {
	return pair(ctx, e.model, query, document)
}

func pair(ctx context.Context, m *native.Model, query, document string) ([]int32, error) {
	template, err := m.ChatTemplate("rerank")
	if err != nil {
		return nil, err
	}
	if template != "" {
		text := strings.NewReplacer("{query}", query, "{document}", document).Replace(template)
		return tokenize(ctx, m, text, false, true)
	}
	asked, err := tokenize(ctx, m, query, false, false)
	if err != nil {
		return nil, err
	}
	given, err := tokenize(ctx, m, document, false, false)
	if err != nil {
		return nil, err
	}
	info := m.Info()
	special := info.Special
	end := special.EOS
	if end < 0 {
		end = special.SEP
	}
	var prompt []int32
	add := func(wanted bool, token int32) {
		if wanted && token >= 0 {
			prompt = append(prompt, token)
		}
	}
	add(info.AddBOS, special.BOS)
	prompt = append(prompt, asked...)
	add(info.AddEOS, end)
	add(info.AddSEP, special.SEP)
	prompt = append(prompt, given...)
	add(info.AddEOS, end)
	return prompt, nil
}
