// SPDX-License-Identifier: MIT

package helm

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

// The pod is what both container files are made for: user, port, and the folders that they declare
// as volumes. A container runtime puts a volume of its own into a declared folder where the pod
// mounts none.
func TestImage_FitsThePod(t *testing.T) {
	spec := template(t, decode(t, mustRender(t, "builtin"))).Spec
	c := spec.Containers[0]
	for _, file := range []string{"../Containerfile", "../dist/Containerfile"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			fmt.Sprintf("USER %d:%d", *spec.SecurityContext.RunAsUser, *spec.SecurityContext.RunAsGroup),
			fmt.Sprintf("EXPOSE %d", c.Ports[0].ContainerPort),
			`ENTRYPOINT ["/usr/bin/penstock"]`,
		} {
			if !strings.Contains(string(text), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", file, line)
			}
		}
		declared := regexp.MustCompile(`(?m)^VOLUME (.*)$`).FindSubmatch(text)
		var folders []string
		if declared == nil || json.Unmarshal(declared[1], &folders) != nil || len(folders) == 0 {
			t.Fatalf("%s: %s", file, declared)
		}
		for _, folder := range folders {
			if !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == folder }) {
				t.Errorf("%s declares %s, where the pod mounts nothing", file, folder)
			}
		}
	}
}

// Why the pod does without variables of services: with that of one called penstock the program
// does not start.
func TestImage_ServiceLinks(t *testing.T) {
	n := newNode(t)
	cmd := n.command(t.Context(), core.Container{Env: []core.EnvVar{{Name: "PENSTOCK_PORT", Value: "tcp://10.0.0.1:8080"}}}, "config", "check")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "PENSTOCK_PORT") {
		t.Errorf("%v: %s", err, out)
	}
}
