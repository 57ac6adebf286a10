// SPDX-License-Identifier: MIT

package answerlog

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/penstock/penstock/scheduler"
)

// unencodable is a frame that has no JSON.
var unencodable = struct{ N float64 }{math.NaN()}

// What ends an answer in its middle is the last of its log, whatever its parser still has to say.
func TestLog_Write_NothingAfterTheEnd(t *testing.T) {
	for _, kept := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := obedientLog(t, newReader("a"))
			src, r := l.source, l.reader
			parts := frame{parts: &partsFrame{Content: "x"}}
			if l.kept = kept; !kept {
				l.write(t.Context(), frame{data: []byte(`{"id":""}`)}, false)
			}
			go func() {
				if src.writeFrame(t.Context(), l, scheduler.Event{Seq: 1}, unencodable) {
					t.Error("more is to be written")
				}
			}()
			synctest.Wait() // it is written, or waits for room
			var wrote []bool
			go func() { wrote = append(wrote, l.write(t.Context(), parts, false), l.write(t.Context(), parts, false)) }()
			ends := 0
			for range 5 {
				synctest.Wait()
				if _, last, _ := r.Read(); last {
					ends++
				}
			}
			if synctest.Wait(); ends != 1 || len(wrote) != 2 || wrote[0] || wrote[1] {
				t.Errorf("kept %v: %d ends were read, parts were written %v", kept, ends, wrote)
			}
			l.shelf.remove(l)
		})
	}
}
