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

{{/* The privileges of the node plugin's container: as few as its strategies need. SECURITY.md#privileges-of-the-node-plugin has the reasons. */}}
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

{{/* The security context of the node plugin's container: the user's, else the chart's. Its uid is 0, unless the user gives another one, also for the whole pod. */}}
{{- define "tranche.pluginSecurity" -}}
{{- $security := .Values.securityContext | default (include "tranche.pluginPrivileges" . | fromYaml) | deepCopy -}}
{{- $pod := .Values.podSecurityContext | default dict -}}
{{- if kindIs "invalid" $pod.runAsUser -}}
{{- $security = merge $security (dict "runAsUser" 0) -}}
{{- end -}}
{{- toYaml $security -}}
{{- end -}}

{{/* Refuses a pod that the kubelet would not start, since it must not be root and is. */}}
{{- define "tranche.validateUid" -}}
{{- $pod := .Values.podSecurityContext | default dict -}}
{{- $container := .Values.securityContext | default dict -}}
{{- $value := ternary "securityContext" "podSecurityContext" (hasKey $container "runAsNonRoot") -}}
{{- $nonRoot := ternary $container.runAsNonRoot $pod.runAsNonRoot (hasKey $container "runAsNonRoot") -}}
{{- $uid := include "tranche.text" ((include "tranche.pluginSecurity" . | fromYaml).runAsUser) | default (include "tranche.text" $pod.runAsUser) -}}
{{- if and (eq "true" (toString $nonRoot)) (eq "0" $uid) -}}
{{- fail (printf "%s.runAsNonRoot is true, and the node plugin runs as uid 0, since root owns the kubelet's sockets: the kubelet would refuse to start it. Leave runAsNonRoot out." $value) -}}
{{- end -}}
{{- end -}}
