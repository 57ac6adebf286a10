{{- define "penstock.pod" -}}
{{- $v := .Values }}
# Nothing in the pod talks to Kubernetes. Variables of services would begin with PENSTOCK_ and be taken for unknown keys.
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $v.serviceAccountName }}
serviceAccountName: {{ quote . }}
{{- end }}
{{- with $v.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "penstock.podSecurity" . | nindent 2 }}
# The whole drain, and half a minute to close connections, plugins and traces.
terminationGracePeriodSeconds: {{ add (include "penstock.drainSeconds" .) 30 }}
{{- with include "penstock.fetchers" . }}
initContainers: {{- . | nindent 2 }}
{{- end }}
containers:
  {{- include "penstock.server" . | nindent 2 }}
volumes: {{- include "penstock.volumes" . | nindent 2 }}
topologySpreadConstraints:
  - topologyKey: kubernetes.io/hostname
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "penstock.selector" . | nindent 8 }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" }}
{{- with get $v $field }}
{{ $field }}: {{- if kindIs "string" . }} {{ quote . }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.server" -}}
{{- $v := .Values }}
- name: penstock
  image: {{ include "penstock.image" . | quote }}
  imagePullPolicy: {{ $v.image.pullPolicy }}
  args: [serve, --config, /etc/penstock/penstock.yaml]
  env: {{- include "penstock.env" . | nindent 4 }}
    {{- with $v.auth.adminSecret }}
    {{- if .name }}
    - name: PENSTOCK_SERVER_ADMIN_KEY
      valueFrom: {secretKeyRef: {name: {{ quote .name }}, key: {{ quote .key }}}}
    {{- end }}
    {{- end }}
    {{- with $v.env }}{{ toYaml . | nindent 4 }}{{ end }}
  ports:
    - {name: http, containerPort: 8080, protocol: TCP}
  # /livez is answered from the start, /readyz when the model is loaded.
  startupProbe:
    {{- include "penstock.probe" (dict "values" $v "path" "/readyz") | nindent 4 }}
    periodSeconds: 5
    failureThreshold: {{ max 1 (div (add (int $v.startup.timeoutSeconds) 4) 5) }}
  readinessProbe:
    {{- include "penstock.probe" (dict "values" $v "path" "/readyz") | nindent 4 }}
    periodSeconds: 5
    timeoutSeconds: 5
    failureThreshold: 2
  livenessProbe:
    {{- include "penstock.probe" (dict "values" $v "path" "/livez") | nindent 4 }}
    periodSeconds: 10
    timeoutSeconds: 10
    failureThreshold: 6
  lifecycle:
    # Until Kubernetes' proxies lead nobody here any more. On the signal, which comes after this, clients are asked to connect anew.
    preStop: {sleep: {seconds: {{ int $v.drain.preStopSeconds }}}}
  securityContext: {{- include "penstock.containerSecurity" . | nindent 4 }}
  {{- with get $v "resources" }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "penstock.mounts" . | nindent 4 }}
    {{- if has $v.model.source (list "volume" "image") }}
    - name: model
      mountPath: /models
      readOnly: true
      {{- with get (get $v.model $v.model.source) "subPath" }}
      subPath: {{ quote . }}
      {{- end }}
    {{- end }}
    {{- if $v.auth.keysSecret.name }}
    - {name: keys, mountPath: /run/penstock/keys, readOnly: true}
    {{- end }}
    {{- if $v.plugins.policySecret.name }}
    - {name: policies, mountPath: /run/penstock/policies, readOnly: true}
    {{- end }}
    {{- if $v.receipts.keySecret.name }}
    - {name: receipts, mountPath: /run/penstock/receipts, readOnly: true}
    {{- end }}
    {{- if $v.tls.secret }}
    - {name: tls, mountPath: /run/penstock/tls, readOnly: true}
    {{- end }}
{{- end }}

{{- define "penstock.drainSeconds" -}}
{{- $drain := .Values.drain }}
{{- add (int $drain.preStopSeconds) (int $drain.delaySeconds) (int $drain.timeoutSeconds) }}
{{- end }}

{{- define "penstock.probe" -}}
httpGet: {path: {{ .path }}, port: http, scheme: {{ ternary "HTTPS" "HTTP" (ne .values.tls.secret "") }}}
{{- end }}

{{- /* The number of the image's user. Volumes belong to its group. */}}
{{- define "penstock.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "penstock.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
