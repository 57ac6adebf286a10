// SPDX-License-Identifier: MIT

//go:build apiserver

package helm

import (
	"context"
	"net/url"
	"os"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
	"sigs.k8s.io/yaml"
)

// startTime is how long etcd and the API server may take until they answer.
const startTime = 3 * time.Minute

// cluster is a kube-apiserver with its etcd, both in this process. Nothing in it runs pods.
type cluster struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func startCluster(t *testing.T) cluster {
	t.Helper()
	storage := storagebackend.NewDefaultConfig("/registry", nil)
	storage.Transport.ServerList = []string{startEtcd(t)}
	// Without a controller no namespace gets its account.
	server := kubeapiserver.StartTestServerOrDie(t, nil, []string{"--disable-admission-plugins=ServiceAccount"}, storage)
	t.Cleanup(server.TearDownFn)
	config := rest.CopyConfig(server.ClientConfig)
	config.WarningHandlerWithContext = warned{t}
	config.QPS, config.Burst = -1, 0
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(finder))}
}

// startEtcd returns its address.
func startEtcd(t *testing.T) string {
	t.Helper()
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync = t.TempDir(), "error", true
	any := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = any, any
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	select {
	case <-etcd.Server.ReadyNotify():
	case <-time.After(startTime):
		t.Fatal("etcd does not get ready")
	}
	return "http://" + etcd.Clients[0].Addr().String()
}

// warned has warnings be errors, such as that a pod would break the namespace's standard.
type warned struct{ t *testing.T }

func (w warned) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code == 299 {
		w.t.Errorf("the server warns: %s", text)
	}
}

// apply is `kubectl apply --server-side --validate=strict`.
func (c cluster) apply(t *testing.T, text string) error {
	t.Helper()
	var object unstructured.Unstructured
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	var mapping *meta.RESTMapping
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, startTime, true, func(context.Context) (done bool, err error) {
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) { // a definition that is not served yet
			c.mapper.Reset()
			return false, nil
		}
		return true, err
	})
	if err != nil {
		t.Fatalf("%v: %v", kind, err)
	}
	var resource dynamic.ResourceInterface = c.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = c.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	data, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	_, err = resource.Patch(t.Context(), object.GetName(), "application/apply-patch+yaml", data,
		metav1.PatchOptions{FieldManager: "helm", FieldValidation: metav1.FieldValidationStrict})
	return err
}

func (c cluster) mustApply(t *testing.T, text string) {
	t.Helper()
	if err := c.apply(t, text); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
}

// A real API server takes all objects of every case, into a namespace that enforces the restricted
// standard, and the pods that its controllers would make of them.
func TestAPIServer_AppliesTheChart(t *testing.T) {
	c := startCluster(t)
	for _, file := range definitionFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c.mustApply(t, string(text))
	}
	for _, name := range []string{"high", "14"} {
		c.mustApply(t, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: '"+name+"'}, value: 1000}")
	}
	for _, name := range []string{"nvidia", "15"} {
		c.mustApply(t, "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: '"+name+"'}, handler: nvidia}")
	}
	for _, name := range cases(t) {
		c.mustApply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: '"+name+"', labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}}}")
		texts, _, err := renderAs(t, release, name, values(t, name))
		if err != nil {
			t.Fatal(err)
		}
		objects := decode(t, texts)
		for i, object := range objects {
			if object.GetObjectKind().GroupVersionKind().Group != "monitoring.coreos.com" { // its definition is in no Go module
				c.mustApply(t, texts[i])
			}
		}
		c.mustApply(t, podOf(t, name, objects))
	}
	for what, text := range map[string]string{
		"an unknown field": "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: builtin}, spec: {port: 1}}",
		"a root":           "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: builtin}, spec: {containers: [{name: a, image: a}]}}",
	} {
		if c.apply(t, text) == nil {
			t.Errorf("the server takes %s", what)
		}
	}
}

// podOf is a pod as the controller of the workload makes it.
func podOf(t *testing.T, namespace string, objects []runtime.Object) string {
	t.Helper()
	made := template(t, objects)
	pod := core.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: made.ObjectMeta, Spec: made.Spec}
	pod.Name, pod.Namespace = "made", namespace
	for _, set := range each[*apps.StatefulSet](objects) {
		for _, claim := range set.Spec.VolumeClaimTemplates {
			pod.Spec.Volumes = append(pod.Spec.Volumes, core.Volume{Name: claim.Name, VolumeSource: core.VolumeSource{
				PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-made"}}})
		}
	}
	text, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
