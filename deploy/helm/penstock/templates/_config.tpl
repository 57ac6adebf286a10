{{- /* The keys that the chart sets, by section: from other values, or so that they fit the pod. */}}
{{- define "penstock.ownConfig" -}}
{{- $m := .Values.model }}
{{- $drain := .Values.drain }}
{{- $server := dict "listen" ":8080" "shutdown_delay" (printf "%ds" (int $drain.delaySeconds)) "shutdown_timeout" (printf "%ds" (int $drain.timeoutSeconds)) }}
{{- if .Values.auth.keysSecret.name }}
{{- $_ := set $server "api_key_file" (printf "/run/penstock/keys/%s" .Values.auth.keysSecret.key) }}
{{- end }}
{{- if .Values.tls.secret }}
{{- $_ := set $server "ssl_cert_file" "/run/penstock/tls/tls.crt" }}
{{- $_ := set $server "ssl_key_file" "/run/penstock/tls/tls.key" }}
{{- end }}
{{- $plugins := dict "dir" "/var/lib/penstock/plugins" }}
{{- $lock := list }}
{{- range .Values.plugins.modules }}{{ with get . "lock" }}{{ $lock = append $lock . }}{{ end }}{{ end }}
{{- if $lock }}{{ $_ := set $plugins "lock" $lock }}{{ end }}
{{- if .Values.plugins.policySecret.name }}
{{- $_ := set $plugins "policy_file" (printf "/run/penstock/policies/%s" .Values.plugins.policySecret.key) }}
{{- end }}
{{- $own := dict "server" $server "plugins" $plugins "recordings" (dict "dir" "/var/lib/penstock/recordings") }}
{{- with .Values.receipts.keySecret }}
{{- if .name }}{{ $_ := set $own "receipts" (dict "key_file" (printf "/run/penstock/receipts/%s" .key)) }}{{ end }}
{{- end }}
{{- if eq $m.source "pull" }}
{{- $_ := set $own "model" (dict "path" $m.pull.name) }}
{{- else if and (has $m.source (list "volume" "image")) $m.path }}
{{- $_ := set $own "model" (dict "path" (printf "/models/%s" $m.path)) }}
{{- else if has $m.source (list "volume" "image") }}
{{- $_ := set $own "models" (dict "dir" "/models") }}
{{- end }}
{{- toYaml $own }}
{{- end }}

{{- define "penstock.config" -}}
{{- $own := include "penstock.ownConfig" . | fromYaml }}
{{- mergeOverwrite (deepCopy .Values.config) $own | toYaml }}
{{- end }}

{{- /* What the schema cannot say: values that need or exclude others. */}}
{{- define "penstock.check" -}}
{{- $v := .Values }}
{{- $own := include "penstock.ownConfig" . | fromYaml }}
{{- range $section, $keys := $v.config }}
{{- range $key, $_ := $keys }}
{{- if hasKey (get $own $section | default dict) $key }}
{{- fail (printf "config.%s.%s: the chart sets this key itself, from other values; see docs/kubernetes.md" $section $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- if not $v.image.repository }}
{{- fail "image.repository is empty: make an image with deploy/Containerfile, push it to your registry, and name it here" }}
{{- end }}
{{- if not (or $v.image.tag $v.image.digest) }}
{{- fail "image.tag and image.digest are empty: give one of them, so that it is known what runs" }}
{{- end }}
{{- include "penstock.checkModel" . }}
{{- include "penstock.checkStorage" . }}
{{- include "penstock.checkAccess" . }}
{{- end }}

{{- define "penstock.checkModel" -}}
{{- $m := .Values.model }}
{{- if and (eq $m.source "image") (not $m.image.reference) }}
{{- fail "model.image.reference is empty: with model.source image it names the image that has the model, REGISTRY/REPOSITORY@sha256:…" }}
{{- end }}
{{- if and (eq $m.source "pull") (not (and $m.pull.reference $m.pull.name)) }}
{{- fail "model.pull.reference or model.pull.name is empty: with model.source pull they say what is pulled, such as OWNER/NAME:Q4_K_M, and what it is called here" }}
{{- end }}
{{- if and (eq $m.source "pull") (contains "://" $m.pull.reference) (not (hasPrefix "hf://" $m.pull.reference)) (not $m.pull.sha256) }}
{{- fail "model.pull.sha256 is empty: of a URL nobody else says what the file must be" }}
{{- end }}
{{- if and $m.path (has $m.source (list "builtin" "pull")) }}
{{- fail (printf "model.path is for model.source volume and image, not for %s" $m.source) }}
{{- end }}
{{- end }}

{{- define "penstock.checkStorage" -}}
{{- $v := .Values }}
{{- $several := or $v.autoscaling.enabled (gt (int $v.replicas) 1) }}
{{- $locked := 0 }}
{{- range $v.plugins.modules }}{{ if get . "lock" }}{{ $locked = add $locked 1 }}{{ end }}{{ end }}
{{- if and $locked (ne (int $locked) (len $v.plugins.modules)) }}
{{- fail "plugins.modules: some have a lock and some have none, which would be refused; give each one its lock, or none" }}
{{- end }}
{{- if and (eq $v.workload "StatefulSet") $v.data.existingClaim }}
{{- fail "data.existingClaim is for a Deployment; a StatefulSet makes a claim for each pod with data.persistent: true" }}
{{- end }}
{{- if and (eq $v.workload "Deployment") $v.data.persistent (not $v.data.existingClaim) $several (not (has "ReadWriteMany" $v.data.accessModes)) }}
{{- fail "data.persistent: several pods of a Deployment share one claim, which data.accessModes [ReadWriteMany] allows; or set workload: StatefulSet, where each has its own" }}
{{- end }}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) }}
{{- fail (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, %d" (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) }}
{{- end }}
{{- end }}

{{- define "penstock.checkAccess" -}}
{{- $v := .Values }}
{{- if and $v.serviceMonitor.enabled $v.auth.keysSecret.name (not $v.serviceMonitor.keySecret.name) }}
{{- fail "serviceMonitor.keySecret.name is empty: with auth.keysSecret the metrics need a key, which Prometheus reads from a Secret of its own" }}
{{- end }}
{{- if and $v.gateway.httpRoute.enabled (not $v.gateway.httpRoute.parentRefs) }}
{{- fail "gateway.httpRoute.parentRefs is empty: name the Gateway that the route belongs to, such as [{name: public}]" }}
{{- end }}
{{- if and $v.gateway.inferencePool.enabled (not $v.gateway.inferencePool.picker.service) }}
{{- fail "gateway.inferencePool.picker.service is empty: name the Service of the endpoint picker, which is installed apart from this chart" }}
{{- end }}
{{- if and $v.gateway.inferencePool.enabled $v.tls.secret }}
{{- fail "gateway.inferencePool: an InferencePool speaks plain HTTP to its pods; leave tls.secret empty and let the gateway end TLS" }}
{{- end }}
{{- end }}
