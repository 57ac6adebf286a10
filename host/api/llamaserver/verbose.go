// SPDX-License-Identifier: MIT

package llamaserver

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// Verbose is the shape of a completion for a request that came by another API, which shows it
// beside its own.
func Verbose(r *completion.TextRequest, stream bool) wire.Detailed {
	b := defaultBody()
	b.CommonFields, b.Stream = *r.Common, stream
	if r.MaxTokens > 0 {
		b.NPredict = &r.MaxTokens
	}
	if r.Logprobs > 0 {
		b.NProbs = &r.Logprobs
	}
	return newCompletionShape(r, &b)
}
