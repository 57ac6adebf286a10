// SPDX-License-Identifier: MIT

package telemetry

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/tools/must"
)

func TestMetrics_Media(t *testing.T) {
	m := NewMetrics("seer")
	m.Media(func() encoder.Stats {
		return encoder.Stats{Encoded: 1, Embedded: 20, Shared: 3, Hits: 4, Cancelled: 5, Waiting: 6, KeptBytes: 7, Took: 8 * time.Second}
	})
	answer := httptest.NewRecorder()
	NewServer("1").Handler(func() []*Metrics { return []*Metrics{m} }).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text := must.Get(io.ReadAll(answer.Body))(t)
	for name, value := range map[string]string{"encoded_total": "1", "embeddings_total": "20", "shared_total": "3", "cache_hits_total": "4", "cancelled_total": "5",
		"waiting": "6", "cache_bytes": "7", "encode_seconds_total": "8"} {
		if line := "penstock_media_" + name + `{model_name="seer"} ` + value + "\n"; !strings.Contains(string(text), line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
