// SPDX-License-Identifier: MIT

package remote

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/tools/must"
)

func TestLink_Silence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		l := newLink(near)
		l.begin()
		go func() { _, _ = io.Copy(io.Discard, far) }() // takes all and says nothing
		begin := time.Now()
		<-l.failed
		if !errors.Is(l.err(), errSilent) || time.Since(begin) != silence {
			t.Errorf("%v after %v, want %v after %v", l.err(), time.Since(begin), errSilent, silence)
		}
		l.close()
		_ = far.Close()
	})
}

// A peer that takes no data is there as long as it gives signs of life.
func TestLink_Busy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		ours, theirs := newLink(near), newLink(far)
		ours.begin()
		theirs.begin()
		sent := make(chan error, 1)
		go func() { _, err := ours.Write(make([]byte, 10*maxFrame)); sent <- err }()
		time.Sleep(10 * silence)
		must.Get(io.ReadFull(theirs, make([]byte, 10*maxFrame)))(t)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		ours.close()
		theirs.close()
	})
}

func TestLink_End(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		ours, theirs := newLink(near), newLink(far)
		ours.begin()
		theirs.begin()
		go theirs.end("it is enough")
		if _, err := ours.Read(make([]byte, 1)); err == nil || err.Error() != "it is enough" {
			t.Errorf("%v, want the reason", err)
		}
		ours.close()
		theirs.close()
	})
}

func TestLink_Nonsense(t *testing.T) {
	for _, c := range []struct {
		said string
		want error
	}{
		{"HTTP/1.1 400 Bad Request\r\n\r\n", errNoFrame},
		{"\x15\x03\x03\x00\x02\x02\x28", errTLS},
		{string([]byte{byte(dataFrame), 0xff, 0xff, 0xff, 0xff}), errNoFrame},
		{string([]byte{byte(helloFrame), 2, 0, 0, 0, '{', '{'}), errNoFrame},
	} {
		near, far := net.Pipe()
		go func() { _, _ = far.Write([]byte(c.said)); _ = far.Close() }()
		l := newLink(near)
		var h hostHello
		if err := l.receiveHello(&h, time.Minute); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.said, err, c.want)
		}
		l.close()
	}
}

// A device may compute for minutes, but not for ever.
func TestGuard_Slow(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		lost  error
	}{{answerLimit - time.Second, nil}, {answerLimit + time.Second, errSlow}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeGGML{before: func(c2 command) {
				if c2 == getTensor {
					time.Sleep(c.takes)
				}
			}}
			client, l := guarded(t, f, 1<<40)
			must.Get(client.ask(getTensor, read(1000)))(t)
			if !errors.Is(l.err(), c.lost) {
				t.Errorf("an answer after %v: %v, want %v", c.takes, l.err(), c.lost)
			}
		})
	}
}
