// SPDX-License-Identifier: MIT

package recording

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/serving"
)

// Recorder begins the recordings of one model's requests.
type Recorder struct {
	store      *Store
	name       string                    // of the model
	vocabulary func() session.Vocabulary // written down with the first recording
}

// New makes the recorder of a model.
func New(s *Store, name string, v plugin.Vocabulary) *Recorder {
	return &Recorder{s, name, sync.OnceValue(func() session.Vocabulary { return session.NewVocabulary(v) })}
}

// Begin begins the recording of a caller's request.
func (r *Recorder) Begin(caller string) serving.Recording {
	id := "rec_" + rand.Text()
	p := &pending{owner: ownerOf(id, caller), done: make(chan struct{})}
	r.store.mu.Lock()
	r.store.pending[id] = p
	r.store.mu.Unlock()
	return &request{recorder: r, id: id, pending: p, created: time.Now(), vocabulary: r.vocabulary(), users: 1}
}
