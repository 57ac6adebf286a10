// SPDX-License-Identifier: MIT

package helm

import (
	"slices"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	security "k8s.io/pod-security-admission/policy"
	inference "sigs.k8s.io/gateway-api-inference-extension/api/v1"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// Every pod keeps to the restricted standard, in its newest version.
func TestChart_PodSecurity_Restricted(t *testing.T) {
	evaluator, err := security.NewEvaluator(security.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	check := func(name string, meta v1.ObjectMeta, spec core.PodSpec) {
		if result := security.AggregateCheckResults(evaluator.EvaluatePod(level, &meta, &spec)); !result.Allowed {
			t.Errorf("%s: %s: %s", name, result.ForbiddenReason(), result.ForbiddenDetail())
		}
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
				t.Errorf("%s: %s may write to its root file system", name, c.Name)
			}
		}
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s: the pod gets the account's token", name)
		}
		if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
			t.Errorf("%s: services put variables such as PENSTOCK_PORT into the pod, which the program takes for keys", name)
		}
	}
	for _, name := range cases(t) {
		objects := decode(t, mustRender(t, name))
		pods := template(t, objects)
		check(name, pods.ObjectMeta, pods.Spec)
		for _, pod := range each[*core.Pod](objects) {
			check(name+", test", pod.ObjectMeta, pod.Spec)
		}
	}
	open := template(t, decode(t, mustRender(t, "builtin")))
	open.Spec.Containers[0].SecurityContext = nil
	if security.AggregateCheckResults(evaluator.EvaluatePod(level, &open.ObjectMeta, &open.Spec)).Allowed {
		t.Error("the check lets everything pass")
	}
}

// Whatever selects pods selects those of the workload, and not the test's.
func TestChart_Selectors(t *testing.T) {
	for _, name := range cases(t) {
		objects := decode(t, mustRender(t, name))
		pods := template(t, objects).Labels
		for what, selector := range selectors(t, objects) {
			if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pods)) {
				t.Errorf("%s: %s selects %v; the pods have %v", name, what, selector, pods)
			}
			for _, pod := range each[*core.Pod](objects) {
				if labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
					t.Errorf("%s: %s selects the pod of helm test", name, what)
				}
			}
		}
		for _, monitor := range each[*monitoring.ServiceMonitor](objects) {
			chosen := 0
			for _, service := range each[*core.Service](objects) {
				if labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)) {
					chosen++
				}
			}
			if chosen != 1 {
				t.Errorf("%s: Prometheus finds each pod %d times", name, chosen)
			}
		}
	}
}

func selectors(t *testing.T, objects []runtime.Object) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{"the spread": template(t, objects).Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels}
	for _, object := range objects {
		switch o := object.(type) {
		case *apps.Deployment:
			all["the deployment"] = o.Spec.Selector.MatchLabels
		case *apps.StatefulSet:
			all["the stateful set"] = o.Spec.Selector.MatchLabels
		case *core.Service:
			all["service "+o.Name] = o.Spec.Selector
		case *policy.PodDisruptionBudget:
			all["the budget"] = o.Spec.Selector.MatchLabels
		case *networking.NetworkPolicy:
			all["the network policy"] = o.Spec.PodSelector.MatchLabels
		case *inference.InferencePool:
			all["the pool"] = map[string]string{}
			for key, value := range o.Spec.Selector.MatchLabels {
				all["the pool"][string(key)] = string(value)
			}
		}
	}
	return all
}

// References lead to what is there: claims, the headless service, the workload that is scaled.
func TestChart_References(t *testing.T) {
	for _, name := range cases(t) {
		objects := decode(t, mustRender(t, name))
		workload := "Deployment"
		if sets := each[*apps.StatefulSet](objects); len(sets) > 0 {
			workload = "StatefulSet"
			headless := slices.ContainsFunc(each[*core.Service](objects), func(s *core.Service) bool {
				return s.Name == sets[0].Spec.ServiceName && s.Spec.ClusterIP == core.ClusterIPNone
			})
			if !headless {
				t.Errorf("%s: there is no headless service %s", name, sets[0].Spec.ServiceName)
			}
		}
		for _, scaler := range each[*autoscaling.HorizontalPodAutoscaler](objects) {
			if target := scaler.Spec.ScaleTargetRef; target.Kind != workload || target.Name != only[*core.ConfigMap](t, objects).Name {
				t.Errorf("%s: it scales %v", name, target)
			}
			if deployments := each[*apps.Deployment](objects); len(deployments) > 0 && deployments[0].Spec.Replicas != nil {
				t.Errorf("%s: each upgrade would undo the scaling", name)
			}
		}
		given := map[string]bool{"models": true, "2": true, "10": true} // of testdata/volume.yaml and testdata/names.yaml
		for _, claim := range each[*core.PersistentVolumeClaim](objects) {
			given[claim.Name] = true
		}
		for _, volume := range template(t, objects).Spec.Volumes {
			if claim := volume.PersistentVolumeClaim; claim != nil && !given[claim.ClaimName] {
				t.Errorf("%s: there is no claim %s", name, claim.ClaimName)
			}
		}
	}
}

// The pod lives until its answers must have ended: the hook, both times of the server, and some
// for closing.
func TestChart_Drain(t *testing.T) {
	for _, name := range cases(t) {
		objects := decode(t, mustRender(t, name))
		spec := template(t, objects).Spec
		stop := spec.Containers[0].Lifecycle.PreStop.Sleep
		if stop == nil {
			t.Fatalf("%s: the image has no shell, so only a sleep of Kubernetes' own can delay the end", name)
		}
		least := time.Duration(stop.Seconds)*time.Second + 21*time.Second // connections 3 s, plugins 15 s, traces 3 s
		got := settings(t, newNode(t), objects)
		for _, key := range []string{"server.shutdown_delay", "server.shutdown_timeout"} {
			part, err := time.ParseDuration(got[key])
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			least += part
		}
		if grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second; grace < least {
			t.Errorf("%s: %v are less than %v", name, grace, least)
		}
	}
}
