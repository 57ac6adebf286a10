// SPDX-License-Identifier: MIT

package socket

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// nameOf is the name of a stream for clients. What is before its last dot says which of several
// servers has the stream, so that a proxy can lead a client back to it; the rest cannot be
// guessed.
func (a *API) nameOf(st serving.Stream) string {
	if a.Replica == "" {
		return st.ID()
	}
	return a.Replica + "." + st.ID()
}

// absentStream is why a server does not know a stream of its own.
const absentStream = "no such stream: it was not started with detach_ms, its time is up, or the server was started again"

// find is the detachable answer that a client names.
func (a *API) find(name string) (*detachable, error) {
	dot := strings.LastIndexByte(name, '.')
	replica, id := name[:max(dot, 0)], name[dot+1:]
	if dot > 0 && replica != a.Replica {
		return nil, unknownStream(fmt.Sprintf("the stream is that of the server %q, and this is %q: connect to /v1/ws?replica=%s; "+
			"a proxy that leads elsewhere even so finds that server gone, and the stream with it", excerpt.Of(replica, 64), a.Replica, excerpt.Of(replica, 64)))
	}
	d := a.detachables.find(id)
	if d == nil {
		return nil, unknownStream(absentStream)
	}
	return d, nil
}

func unknownStream(why string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "unknown_stream", Field: "stream", Message: why}
}
