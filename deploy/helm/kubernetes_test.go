// SPDX-License-Identifier: MIT

package helm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	groupversion "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json" // keeps integers
	"k8s.io/apimachinery/pkg/util/validation/field"
	celbudget "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // so that defaults are known, and how objects are converted
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"sigs.k8s.io/yaml"
)

// The API server's own code takes every object, and warns of none.
func TestChart_KubernetesTakesIt(t *testing.T) {
	definitions := definitions(t)
	for _, name := range cases(t) {
		texts := mustRender(t, name)
		for i, object := range decode(t, texts) {
			kind := object.GetObjectKind().GroupVersionKind()
			definition, custom := definitions[kind]
			var problems field.ErrorList
			switch {
			case custom:
				problems = validateCustom(t, definition, texts[i])
			case kind.Group == "monitoring.coreos.com": // its definition is in no Go module; its type has been decoded strictly
			default:
				problems = validate(t, internal(t, object))
			}
			for _, problem := range problems {
				t.Errorf("%s: %s: %v", name, kind.Kind, problem)
			}
		}
	}
}

// internal is an object as the API server sees it, with defaults.
func internal(t *testing.T, object runtime.Object) runtime.Object {
	t.Helper()
	legacyscheme.Scheme.Default(object)
	version := groupversion.GroupVersion{Group: object.GetObjectKind().GroupVersionKind().Group, Version: runtime.APIVersionInternal}
	converted, err := legacyscheme.Scheme.ConvertToVersion(object, version)
	if err != nil {
		t.Fatal(err)
	}
	return converted
}

func validate(t *testing.T, object runtime.Object) field.ErrorList {
	t.Helper()
	switch o := object.(type) {
	case *apps.Deployment:
		return append(appsvalidation.ValidateDeployment(o, podOptions(t, &o.Spec.Template)), warnings(t, &o.Spec.Template)...)
	case *apps.StatefulSet:
		return append(appsvalidation.ValidateStatefulSet(o, appsvalidation.StatefulSetValidationOptions{}, podOptions(t, &o.Spec.Template)), warnings(t, &o.Spec.Template)...)
	case *core.Pod:
		return corevalidation.ValidatePodCreate(o, pod.GetValidationOptionsFromPodSpecAndMeta(&o.Spec, nil, &o.ObjectMeta, nil))
	case *core.Service:
		if o.Spec.ClusterIP != "" {
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP} // by the server's storage
		}
		return corevalidation.ValidateServiceCreate(o)
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(o, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate())
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(o, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{})
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	}
	t.Fatalf("nothing checks a %T", object)
	return nil
}

func podOptions(t *testing.T, template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
	t.Helper()
	return pod.GetValidationOptionsFromPodTemplate(template, nil)
}

// warnings are what kubectl would show, such as duplicate variables.
func warnings(t *testing.T, template *core.PodTemplateSpec) (all field.ErrorList) {
	t.Helper()
	path := field.NewPath("spec", "template")
	for _, warning := range pod.GetWarningsForPodTemplate(t.Context(), path, template, nil) {
		all = append(all, field.Forbidden(path, warning))
	}
	return all
}

func definitionFiles(t *testing.T) []string {
	t.Helper()
	return []string{
		filepath.Join(module(t, "sigs.k8s.io/gateway-api"), "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"),
		filepath.Join(module(t, "sigs.k8s.io/gateway-api-inference-extension"), "config/crd/bases/inference.networking.k8s.io_inferencepools.yaml"),
	}
}

// definitions are the custom resources that have one in a Go module, as they are installed in
// clusters.
func definitions(t *testing.T) map[groupversion.GroupVersionKind]*apiextensions.CustomResourceValidation {
	t.Helper()
	all := map[groupversion.GroupVersionKind]*apiextensions.CustomResourceValidation{}
	for _, file := range definitionFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			var converted apiextensions.CustomResourceValidation
			if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, &converted, nil); err != nil {
				t.Fatal(err)
			}
			all[groupversion.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = &converted
		}
	}
	return all
}

// module is the folder of a module that go.mod names.
func module(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// validateCustom does what the API server does with a custom resource: defaults, the schema, and
// the rules in it.
func validateCustom(t *testing.T, definition *apiextensions.CustomResourceValidation, text string) field.ErrorList {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(asJSON, &object); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(definition.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	defaulting.Default(object, structural)
	validator, _, err := crdvalidation.NewSchemaValidator(definition.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	problems := crdvalidation.ValidateCustomResource(nil, object, validator)
	rules := cel.NewValidator(structural, true, celbudget.PerCallLimit)
	broken, _ := rules.Validate(t.Context(), nil, structural, object, nil, celbudget.RuntimeCELCostBudget)
	return append(problems, broken...)
}
