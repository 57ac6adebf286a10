// SPDX-License-Identifier: MIT

package helm

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The program takes the configuration of every case, and it says what the pod and the Service
// suppose.
func TestProgram_TakesTheConfiguration(t *testing.T) {
	for _, name := range cases(t) {
		n, objects := newNode(t), decode(t, mustRender(t, name))
		got := settings(t, n, objects)
		c := template(t, objects).Spec.Containers[0]
		_, port, _ := strings.Cut(got["server.listen"], ":")
		if port != strconv.Itoa(int(c.Ports[0].ContainerPort)) {
			t.Errorf("%s: the program listens on %s, the pod's port is %d", name, got["server.listen"], c.Ports[0].ContainerPort)
		}
		for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
			if probe.HTTPGet.Port.String() != c.Ports[0].Name || (probe.HTTPGet.Scheme == core.URISchemeHTTPS) != (got["server.ssl_cert_file"] != "") {
				t.Errorf("%s: the probe asks %v", name, probe.HTTPGet)
			}
		}
		for _, key := range []string{"plugins.dir", "recordings.dir", "server.api_key_file", "server.ssl_cert_file", "models.dir"} {
			if path := got[key]; path != "" && !n.isMounted(path, c) {
				t.Errorf("%s: %s is %s, and no volume is there", name, key, path)
			}
		}
		if path := got["model.path"]; filepath.IsAbs(path) && !n.isMounted(path, c) {
			t.Errorf("%s: model.path is %s, and no volume is there", name, path)
		}
	}
	all := settings(t, newNode(t), decode(t, mustRender(t, "all")))
	for key, want := range map[string]string{"scheduler.slots": "16", "scheduler.cache_ram": "1073741824", "server.rate_limit_requests": "600",
		"server.shutdown_delay": "10s", "server.shutdown_timeout": "10m0s", "model.path": "tale", "server.admin_key": "(secret)", "server.priority_keys": "(secret)"} {
		if all[key] != want {
			t.Errorf("%s is %q, not %q", key, all[key], want)
		}
	}
	if limit := settings(t, newNode(t), decode(t, mustRender(t, "volume")))["server.body_limit"]; limit != "268435456" {
		t.Errorf("a large number comes through as %s", limit)
	}
}

func (n node) isMounted(path string, c core.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool {
		return strings.HasPrefix(path+"/", filepath.Join(n.root, m.MountPath)+"/")
	})
}

// The schema has the program's sections, and refuses the keys that are secrets.
func TestProgram_Sections(t *testing.T) {
	var schema struct {
		Properties struct {
			Config struct {
				PropertyNames struct{ Enum []string }
				Properties    map[string]struct{ Properties map[string]bool }
			}
		}
	}
	text, err := os.ReadFile("penstock/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	config := schema.Properties.Config
	sections := map[string]bool{}
	for key := range settings(t, newNode(t), decode(t, mustRender(t, "builtin"))) {
		section, _, _ := strings.Cut(key, ".")
		sections[section] = true
	}
	if got := slices.Sorted(slices.Values(config.PropertyNames.Enum)); !slices.Equal(got, slices.Sorted(maps.Keys(sections))) {
		t.Errorf("the schema has the sections %v, the program %v", got, slices.Sorted(maps.Keys(sections)))
	}
	for _, name := range []string{"server.api_keys", "server.admin_key", "server.priority_keys", "plugins.script_keys"} {
		section, key, _ := strings.Cut(name, ".")
		if allowed, there := config.Properties[section].Properties[key]; allowed || !there {
			t.Errorf("the schema lets %s into a ConfigMap", name)
		}
	}
}

// The init containers' commands and flags exist.
func TestProgram_TakesTheArguments(t *testing.T) {
	for _, name := range cases(t) {
		n, objects := newNode(t), decode(t, mustRender(t, name))
		containers := template(t, objects).Spec.InitContainers
		for _, pod := range each[*core.Pod](objects) {
			containers = append(containers, pod.Spec.Containers...)
		}
		for _, c := range containers {
			if out, err := n.command(t.Context(), c, append(slices.Clone(c.Args), "--help")...).CombinedOutput(); err != nil {
				t.Errorf("%s: %q: %v: %s", name, c.Args, err, out)
			}
		}
	}
}

// A pod is run: its model comes from a hub and its plugin from a registry. It serves both, answers
// its probes and the test of the release, has the metrics by which it is scaled and chosen, and
// ends when it is told to.
func TestProgram_RunsThePod(t *testing.T) {
	n := newNode(t)
	given := values(t, "pull")
	pull := given["model"].(map[string]any)["pull"].(map[string]any)
	pull["hub"] = hub(t)
	reference, lock := push(t, n)
	given["plugins"] = map[string]any{"modules": []any{map[string]any{"reference": reference, "lock": lock}}}
	given["autoscaling"] = map[string]any{"enabled": true}
	given["config"] = map[string]any{"model": map[string]any{"threads": 1}}
	given["drain"] = map[string]any{"delaySeconds": 0}
	texts, _, err := render(t, given)
	if err != nil {
		t.Fatal(err)
	}
	objects := decode(t, texts)
	for _, c := range template(t, objects).Spec.InitContainers {
		n.mount(t, objects, c)
		if out, err := n.command(t.Context(), c, c.Args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c.Name, err, out)
		}
	}
	url, stop := n.serve(t, objects)
	c := template(t, objects).Spec.Containers[0]
	for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		get(t, url+probe.HTTPGet.Path)
	}
	if models := get(t, url+"/v1/models"); !strings.Contains(models, `"tale"`) {
		t.Errorf("it serves %s", models)
	}
	if plugins := get(t, url+"/v1/plugins"); !strings.Contains(plugins, `"banned-phrases"`) || !strings.Contains(plugins, `"ready"`) {
		t.Errorf("it has %s", plugins)
	}
	if compiled, err := filepath.Glob(filepath.Join(n.root, "var/cache/penstock/penstock/code/*")); err != nil || len(compiled) == 0 {
		t.Errorf("nothing is kept of the compiled plugin: %v", err)
	}
	metrics, measured := get(t, url+"/metrics"), pickerMetrics(t)
	for _, m := range only[*autoscaling.HorizontalPodAutoscaler](t, objects).Spec.Metrics {
		measured = append(measured, m.Pods.Metric.Name)
	}
	for _, name := range measured {
		if !regexp.MustCompile(`(?m)^` + name + `\{([^}]*,)?model_name="tale"[,}]`).MatchString(metrics) {
			t.Errorf("there is no metric %s", name)
		}
	}
	test := only[*core.Pod](t, objects).Spec.Containers[0]
	if out, err := exec.CommandContext(t.Context(), n.program, test.Args[0], url).CombinedOutput(); err != nil {
		t.Errorf("helm test: %v: %s", err, out)
	}
	stop()
}

// pickerMetrics are the names that the protocol between an endpoint picker and model servers has
// for vLLM.
func pickerMetrics(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(module(t, "sigs.k8s.io/gateway-api-inference-extension"), "docs/proposals/003-model-server-protocol/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`vllm:\w+`).FindAllString(string(text), -1)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 4 {
		t.Fatalf("the protocol has only %q", names)
	}
	return names
}

// serve runs the pod's own container until it is ready. stop ends it as a kubelet does, and it
// must end well.
func (n node) serve(t *testing.T, objects []runtime.Object) (url string, stop func()) {
	t.Helper()
	c := template(t, objects).Spec.Containers[0]
	n.mount(t, objects, c)
	cmd := n.command(t.Context(), c, c.Args...)
	cmd.Env = append(cmd.Env, "PENSTOCK_SERVER_HOST=127.0.0.1", "PENSTOCK_SERVER_PORT=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("it does not get ready: %v: %s", err, said.String())
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/"), func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v: %s", err, said.String())
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s, %v", url, answer.Status, text, err)
	}
	return string(text)
}

// hub has a repository owner/name with the built-in model.
func hub(t *testing.T) string {
	t.Helper()
	model, err := os.ReadFile("../../host/model/penstock-tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/models/owner/name/tree/main", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `[{"type":"file","path":"tale-Q4_K_M.gguf","size":%d,"lfs":{"oid":"%x","size":%d}}]`, len(model), sha256.Sum256(model), len(model))
	})
	mux.HandleFunc("/owner/name/resolve/main/tale-Q4_K_M.gguf", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(model))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// push puts a plugin into a registry of its own. It returns where it is, by digest, and its lock.
func push(t *testing.T, n node) (reference, lock string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	module := "../../build/plugins/banned-phrases.wasm"
	if _, err := os.Stat(module); err != nil {
		t.Fatalf("%v: run `make plugins` first", err)
	}
	cmd := exec.CommandContext(t.Context(), n.program, "plugin", "push", "--json", module, strings.TrimPrefix(server.URL, "http://")+"/team/banned-phrases:1.0")
	cmd.Env = []string{"DOCKER_CONFIG=" + t.TempDir()}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pushed struct{ Reference, Lock string }
	if err := json.Unmarshal(out, &pushed); err != nil {
		t.Fatal(err)
	}
	return pushed.Reference, pushed.Lock
}
