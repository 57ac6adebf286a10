// SPDX-License-Identifier: MIT

package helm

import (
	"strings"
	"testing"
)

const (
	image = "image: {repository: registry.example.com/penstock, tag: '1'}\n"
	hash  = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

// refusals are wrong values, and parts of what is said of them.
var refusals = map[string][]string{
	"image: {tag: '1'}":                                {"image.repository is empty", "deploy/Containerfile"},
	"image: {repository: a/b}":                         {"image.tag and image.digest are empty"},
	image + "replica: 2":                               {"'replica' not allowed"},
	image + "replicas: two":                            {"'/replicas'", "want integer"},
	image + "workload: DaemonSet":                      {"'/workload'", "'Deployment', 'StatefulSet'"},
	image + "model: {source: hub}":                     {"'/model/source'", "'builtin', 'volume', 'image', 'pull'"},
	image + "model: {source: pull}":                    {"model.pull.reference", "OWNER/NAME:Q4_K_M"},
	image + "model: {source: image}":                   {"model.image.reference is empty"},
	image + "model: {path: a.gguf}":                    {"model.path is for model.source volume and image, not for builtin"},
	image + "model: {source: volume, path: ../a.gguf}": {"'/model/path'", "pattern"},
	image + "model: {source: pull, pull: {reference: 'https://a/b.gguf', name: b}}": {"model.pull.sha256 is empty"},

	image + "plugins: {modules: [{reference: 'registry.example.com/team/a:1.0'}]}":                                     {"'/plugins/modules/0/reference'", "sha256"},
	image + "plugins: {modules: [{reference: r/a@" + hash + ", lock: a@" + hash + "}, {reference: r/b@" + hash + "}]}": {"plugins.modules", "give each one its lock"},

	image + "config: {server: {listen: ':9'}}":         {"config.server.listen", "the chart sets this key itself"},
	image + "config: {server: {shutdown_timeout: 5s}}": {"config.server.shutdown_timeout", "the chart sets this key itself"},
	image + "config: {server: {shutdown_delay: 5s}}":   {"config.server.shutdown_delay", "the chart sets this key itself"},
	image + "config: {server: {admin_key: secret}}":    {"'/config/server/admin_key'"},
	image + "config: {server: {api_keys: [secret]}}":   {"'/config/server/api_keys'"},
	image + "config: {serer: {}}":                      {"'serer'", "'server'"},
	image + "config: {scheduler.slots: 4}":             {"'scheduler.slots'", "'scheduler'"},

	image + "workload: StatefulSet\ndata: {persistent: true, existingClaim: a}": {"data.existingClaim is for a Deployment"},
	image + "replicas: 2\ndata: {persistent: true}":                             {"data.accessModes [ReadWriteMany]", "workload: StatefulSet"},
	image + "data: {size: 20 GB}":                                               {"'/data/size'", "pattern"},

	image + "drain: {preStopSeconds: 0}":                                                        {"'/drain/preStopSeconds'", "minimum"},
	image + "autoscaling: {enabled: true, minReplicas: 5}":                                      {"autoscaling.minReplicas is 5", "maxReplicas, 4"},
	image + "disruptionBudget: {maxUnavailable: 0}":                                             {"'/disruptionBudget/maxUnavailable'"},
	image + "auth: {keysSecret: {name: a}}\nserviceMonitor: {enabled: true}":                    {"serviceMonitor.keySecret.name is empty"},
	image + "gateway: {httpRoute: {enabled: true}}":                                             {"gateway.httpRoute.parentRefs is empty"},
	image + "gateway: {inferencePool: {enabled: true}}":                                         {"gateway.inferencePool.picker.service is empty"},
	image + "tls: {secret: a}\ngateway: {inferencePool: {enabled: true, picker: {service: b}}}": {"an InferencePool speaks plain HTTP"},
}

// What is wrong is said with the value's name, and with what would be right.
func TestChart_Refuses(t *testing.T) {
	for wrong, says := range refusals {
		_, _, err := render(t, parse(t, wrong))
		if err == nil {
			t.Errorf("taken:\n%s", wrong)
			continue
		}
		for _, part := range says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s\nsays %v\nand not %q", wrong, err, part)
			}
		}
	}
}
