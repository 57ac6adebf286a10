{{- /* Where the program looks for its folders, whatever the image says. */}}
{{- define "penstock.env" -}}
- {name: XDG_DATA_HOME, value: /var/lib}
- {name: XDG_CACHE_HOME, value: /var/cache/penstock}
{{- end }}

{{- /* What all containers of the pod have. */}}
{{- define "penstock.mounts" -}}
- {name: config, mountPath: /etc/penstock, readOnly: true}
- {name: data, mountPath: /var/lib/penstock}
- {name: cache, mountPath: /var/cache/penstock}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "penstock.volumes" -}}
{{- $v := .Values }}
- name: config
  configMap: {name: {{ include "penstock.fullname" . | quote }}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
# In memory, where everybody may write but remove only what is theirs (mode 1777). On a disk all may be removed by all (0777), and
# compiled code in such a folder is not trusted.
- name: cache
  emptyDir: {medium: Memory, sizeLimit: {{ $v.cache.size }}}
{{- if not $v.data.persistent }}
- name: data
  emptyDir: {sizeLimit: {{ $v.data.size }}}
{{- else if eq $v.workload "Deployment" }}
- name: data
  persistentVolumeClaim: {claimName: {{ include "penstock.dataClaim" . | quote }}}
{{- end }}
{{- if eq $v.model.source "volume" }}
- name: model
  persistentVolumeClaim: {claimName: {{ include "penstock.modelClaim" . | quote }}, readOnly: true}
{{- else if eq $v.model.source "image" }}
- name: model
  image: {reference: {{ quote $v.model.image.reference }}, pullPolicy: {{ $v.model.image.pullPolicy }}}
{{- end }}
{{- with $v.auth.keysSecret.name }}
- name: keys
  secret: {secretName: {{ quote . }}, defaultMode: 0440}
{{- end }}
{{- with $v.plugins.policySecret.name }}
- name: policies
  secret: {secretName: {{ quote . }}, defaultMode: 0440}
{{- end }}
{{- with $v.receipts.keySecret.name }}
- name: receipts
  secret: {secretName: {{ quote . }}, defaultMode: 0440}
{{- end }}
{{- with $v.tls.secret }}
- name: tls
  secret: {secretName: {{ quote . }}, defaultMode: 0440}
{{- end }}
{{- with $v.plugins.dockerConfigSecret }}
- name: docker
  secret: {secretName: {{ quote . }}, defaultMode: 0440, items: [{key: .dockerconfigjson, path: config.json}]}
{{- end }}
{{- end }}

{{- define "penstock.dataClaimSpec" -}}
accessModes: {{- toYaml .Values.data.accessModes | nindent 2 }}
{{- with .Values.data.storageClassName }}
storageClassName: {{ quote . }}
{{- end }}
resources: {requests: {storage: {{ .Values.data.size }}}}
{{- end }}

{{- /* Init containers: one for the model, one for each plugin. The image has no shell. */}}
{{- define "penstock.fetchers" -}}
{{- $v := .Values }}
{{- if eq $v.model.source "pull" }}
{{- $args := list "model" "pull" $v.model.pull.reference "--config" "/etc/penstock/penstock.yaml" "--name" $v.model.pull.name }}
{{- with $v.model.pull.sha256 }}{{ $args = concat $args (list "--sha256" .) }}{{ end }}
{{- with $v.model.pull.hub }}{{ $args = concat $args (list "--hub" .) }}{{ end }}
{{- $env := list }}
{{- with $v.model.pull.tokenSecret }}
{{- if .name }}
{{- $env = append $env (dict "name" "HF_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" .name "key" .key))) }}
{{- end }}
{{- end }}
{{ include "penstock.fetcher" (dict "root" . "name" "model" "args" $args "env" $env "mounts" list) }}
{{- end }}
{{- $env := list }}
{{- $mounts := list }}
{{- if $v.plugins.dockerConfigSecret }}
{{- $env = append $env (dict "name" "DOCKER_CONFIG" "value" "/run/penstock/docker") }}
{{- $mounts = append $mounts (dict "name" "docker" "mountPath" "/run/penstock/docker" "readOnly" true) }}
{{- end }}
{{- range $i, $module := $v.plugins.modules }}
{{- $args := list "plugin" "pull" $module.reference "--config" "/etc/penstock/penstock.yaml" }}
{{ include "penstock.fetcher" (dict "root" $ "name" (printf "plugin-%d" $i) "args" $args "env" $env "mounts" $mounts) }}
{{- end }}
{{- end }}

{{- define "penstock.fetcher" -}}
- name: {{ .name }}
  image: {{ include "penstock.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: {{- toYaml .args | nindent 4 }}
  env: {{- include "penstock.env" .root | nindent 4 }}
    {{- with concat .env .root.Values.env }}{{ toYaml . | nindent 4 }}{{ end }}
  securityContext: {{- include "penstock.containerSecurity" .root | nindent 4 }}
  {{- with get .root.Values "resources" }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "penstock.mounts" .root | nindent 4 }}
    {{- with .mounts }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end }}
