{{/*
"true" if nodes may advertise MIG devices: by the variable if it is given, since that takes precedence, else by any config. A ConfigMap that the chart
does not create may say so, too. Takes `root`, and the plugin's environment as `env`.
*/}}
{{- define "tranche.mig" -}}
{{- if .env.MIG_STRATEGY -}}
{{- if ne .env.MIG_STRATEGY "none" -}}true{{- end -}}
{{- else if .root.Values.config.name -}}true
{{- else -}}
{{- range $key, $text := (include "tranche.configMap" .root | fromYaml) -}}
{{- if ne "none" (((fromYaml $text).flags | default dict).migStrategy | default "none") -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if containers may get their GPUs as volume mounts; arguments as above. */}}
{{- define "tranche.volumeMounts" -}}
{{- if .env.DEVICE_LIST_STRATEGY -}}
{{- if contains "volume-mounts" .env.DEVICE_LIST_STRATEGY -}}true{{- end -}}
{{- else if .root.Values.config.name -}}true
{{- else -}}
{{- range $key, $text := (include "tranche.configMap" .root | fromYaml) -}}
{{- if contains "volume-mounts" (((((fromYaml $text).flags | default dict).plugin | default dict).deviceListStrategy | default "") | toJson) -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The privileges of the node plugin's container: as few as its strategies need. docs/rbac.md has the reasons. */}}
{{- define "tranche.pluginPrivileges" -}}
{{- $arguments := dict "root" . "env" (include "tranche.pluginEnv" . | fromYaml) -}}
{{- if eq "true" (.Values.compatWithCPUManager | toString) -}}
privileged: true
readOnlyRootFilesystem: true
{{- else if or (include "tranche.mig" $arguments) (include "tranche.volumeMounts" $arguments) -}}
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  add: [SYS_ADMIN]
seccompProfile: {type: RuntimeDefault}
{{- else -}}
{{ include "tranche.containerSecurity" . }}
seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- end -}}
