{{- define "penstock.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* At most 52 characters, so that "-headless" and a pod's number still fit. */}}
{{- define "penstock.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "penstock.name" . }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* What selectors have. It never changes: a selector of a workload cannot be changed. */}}
{{- define "penstock.selector" -}}
app.kubernetes.io/name: {{ include "penstock.name" . | quote }}
app.kubernetes.io/instance: {{ quote .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "penstock.image" -}}
{{- $i := .Values.image }}
{{- if $i.digest }}{{ $i.repository }}@{{ $i.digest }}{{ else }}{{ $i.repository }}:{{ $i.tag }}{{ end }}
{{- end }}

{{- /* The claim of data, where it is one of its own. */}}
{{- define "penstock.dataClaim" -}}
{{ .Values.data.existingClaim | default (printf "%s-data" (include "penstock.fullname" .)) }}
{{- end }}

{{- define "penstock.modelClaim" -}}
{{ .Values.model.volume.existingClaim | default (printf "%s-model" (include "penstock.fullname" .)) }}
{{- end }}

{{- /* Whether pods fetch something from elsewhere when they start. */}}
{{- define "penstock.fetches" -}}
{{- if or (eq .Values.model.source "pull") .Values.plugins.modules }}true{{ end }}
{{- end }}
