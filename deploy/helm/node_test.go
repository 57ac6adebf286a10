// SPDX-License-Identifier: MIT

package helm

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// node runs the containers of a pod as a kubelet does, as far as that goes without root: with the
// program of this checkout, and with a folder of its own instead of /.
type node struct{ program, root string }

func newNode(t *testing.T) node {
	t.Helper()
	program, err := filepath.Abs("../../bin/penstock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return node{program, t.TempDir()}
}

// inContainer are the folders that the chart names.
var inContainer = regexp.MustCompile(`(^|[\s"'=,:])(/(?:etc/penstock|var/lib|var/cache|models|run/penstock|tmp)\b)`)

// outside turns the paths in a text into those below the node's folder.
func (n node) outside(text string) string {
	return inContainer.ReplaceAllString(text, "${1}"+n.root+"${2}")
}

// mount makes the volumes of a container, as a kubelet makes them, with the modes that decide what
// the program may do there.
func (n node) mount(t *testing.T, objects []runtime.Object, c core.Container) {
	t.Helper()
	volumes := map[string]core.Volume{}
	for _, v := range template(t, objects).Spec.Volumes {
		volumes[v.Name] = v
	}
	for _, set := range each[*apps.StatefulSet](objects) {
		for _, claim := range set.Spec.VolumeClaimTemplates {
			volumes[claim.Name] = core.Volume{Name: claim.Name, VolumeSource: core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{}}}
		}
	}
	for _, m := range c.VolumeMounts {
		dir := filepath.Join(n.root, m.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		switch v := volumes[m.Name]; {
		case v.ConfigMap != nil:
			for name, text := range only[*core.ConfigMap](t, objects).Data {
				n.write(t, filepath.Join(m.MountPath, name), n.outside(text))
			}
		case v.EmptyDir != nil && v.EmptyDir.Medium == core.StorageMediumMemory:
			chmod(t, dir, os.ModeSticky|0o777)
		case v.EmptyDir != nil, v.PersistentVolumeClaim != nil && !m.ReadOnly:
			chmod(t, dir, 0o777)
		case v.Name == "":
			t.Fatalf("%s mounts %s, which is no volume of the pod", c.Name, m.Name)
		}
	}
}

func (n node) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.root, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

// command is the process of a container, which sees nothing of this machine's environment.
func (n node) command(ctx context.Context, c core.Container, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.program, args...)
	for i := range cmd.Args {
		if i > 0 {
			cmd.Args[i] = n.outside(cmd.Args[i])
		}
	}
	cmd.Dir, cmd.Env = n.root, []string{} // nil would be this process's variables
	for _, v := range c.Env {
		value := n.outside(v.Value)
		if v.ValueFrom != nil {
			value = "a-secret-of-" + v.ValueFrom.SecretKeyRef.Name
		}
		cmd.Env = append(cmd.Env, v.Name+"="+value)
	}
	return cmd
}

// settings are the configuration that the program reads from the pod's file, arguments and
// variables.
func settings(t *testing.T, n node, objects []runtime.Object) map[string]string {
	t.Helper()
	c := template(t, objects).Spec.Containers[0]
	n.mount(t, objects, c)
	if len(c.Args) == 0 || c.Args[0] != "serve" {
		t.Fatalf("the container runs %q", c.Args)
	}
	cmd := n.command(t.Context(), c, append([]string{"config", "print", "--json"}, c.Args[1:]...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	var entries []struct{ Key, Value, Origin string }
	if err := json.Unmarshal(out, &entries); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		all[e.Key] = e.Value
	}
	return all
}
