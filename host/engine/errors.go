// SPDX-License-Identifier: MIT

package engine

import "errors"

// ErrNotGenerating refuses models that do not write token by token: encoders, embedding and diffusion models.
var ErrNotGenerating = errors.New("it does not generate text token by token (an encoder, embedding or diffusion model); " +
	"choose a model that chats or completes")
