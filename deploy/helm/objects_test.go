// SPDX-License-Identifier: MIT

package helm

import (
	"reflect"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	inference "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

// types are those of all kinds that the chart makes.
func types(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, gateway.Install, inference.Install, monitoring.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// decode turns objects into their types. A field that is not known, or that is there twice, is an
// error.
func decode(t *testing.T, objects []string) (all []runtime.Object) {
	t.Helper()
	decoder := serializer.NewCodecFactory(types(t), serializer.EnableStrict).UniversalDeserializer()
	for _, text := range objects {
		object, _, err := decoder.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		all = append(all, object)
	}
	return all
}

// only is the one object of a type.
func only[T runtime.Object](t *testing.T, objects []runtime.Object) (one T) {
	t.Helper()
	all := each[T](objects)
	if len(all) != 1 {
		t.Fatalf("%d of %T", len(all), one)
	}
	return all[0]
}

func each[T runtime.Object](objects []runtime.Object) (all []T) {
	for _, o := range objects {
		if object, ok := o.(T); ok {
			all = append(all, object)
		}
	}
	return all
}

// template is the pods' template of the workload, whatever its kind.
func template(t *testing.T, objects []runtime.Object) core.PodTemplateSpec {
	t.Helper()
	if sets := each[*apps.StatefulSet](objects); len(sets) > 0 {
		return sets[0].Spec.Template
	}
	return only[*apps.Deployment](t, objects).Spec.Template
}

// Which objects there are depends on the values.
func TestChart_Objects(t *testing.T) {
	for name, want := range map[string][]string{
		"builtin": {"ConfigMap", "Deployment", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Service"},
		"off":     {"ConfigMap", "Deployment", "Pod", "Service"},
		"claim":   {"ConfigMap", "Deployment", "NetworkPolicy", "PersistentVolumeClaim", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget", "Service"},
		"volume":  {"ConfigMap", "Deployment", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Service", "ServiceMonitor"},
		"names":   {"ConfigMap", "Deployment", "HTTPRoute", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"},
		"image":   {"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"},
		"pull":    {"ConfigMap", "Deployment", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Service"},
		"scaled":  {"ConfigMap", "Deployment", "HTTPRoute", "HorizontalPodAutoscaler", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Service"},
		"all": {"ConfigMap", "HTTPRoute", "HorizontalPodAutoscaler", "InferencePool", "NetworkPolicy", "Pod", "PodDisruptionBudget",
			"Service", "Service", "ServiceMonitor", "StatefulSet"},
	} {
		var kinds []string
		for _, o := range decode(t, mustRender(t, name)) {
			kinds = append(kinds, o.GetObjectKind().GroupVersionKind().Kind)
		}
		slices.Sort(kinds)
		if !reflect.DeepEqual(kinds, want) {
			t.Errorf("%s has %v, not %v", name, kinds, want)
		}
	}
}

// Numbers are names of releases and of namespaces, too.
func TestChart_Objects_NamedByNumbers(t *testing.T) {
	for _, name := range cases(t) {
		texts, _, err := renderAs(t, "1", "2", values(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, object := range decode(t, texts) {
			made, err := meta.Accessor(object)
			if err != nil {
				t.Fatal(err)
			}
			if made.GetNamespace() != "2" || made.GetLabels()["app.kubernetes.io/instance"] != "1" {
				t.Errorf("%s: it is not of the release:\n%s", name, texts[i])
			}
		}
	}
}
