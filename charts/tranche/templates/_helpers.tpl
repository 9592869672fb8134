{{- define "tranche.name" -}}
{{- default "tranche" .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "tranche.labels" -}}
app.kubernetes.io/name: {{ include "tranche.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "tranche.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* The config's keys: those given, or one of our own with `replicas` for every GPU; none when a ConfigMap is named. */}}
{{- define "tranche.configMap" -}}
{{- if .Values.config.map -}}
{{ toYaml .Values.config.map }}
{{- else if not .Values.config.name -}}
default: |
  version: v1
  {{- if gt (int .Values.replicas) 1 }}
  sharing:
    timeSlicing:
      resources:
        - name: nvidia.com/gpu
          replicas: {{ int .Values.replicas }}
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "tranche.configName" -}}
{{- default (printf "%s-config" (include "tranche.name" .)) .Values.config.name -}}
{{- end -}}

{{/* The extended resources that the configs advertise, as a JSON list. A config may rename, so all keys are read. */}}
{{- define "tranche.resources" -}}
{{- $names := list -}}
{{- if .Values.resources -}}
{{- $names = .Values.resources -}}
{{- else -}}
{{- range $key, $text := (include "tranche.configMap" . | fromYaml) -}}
{{- $sharing := (fromYaml $text).sharing | default dict -}}
{{- range $strategy := list "timeSlicing" "mps" -}}
{{- $section := get $sharing $strategy | default dict -}}
{{- range $resource := $section.resources -}}
{{- $name := $resource.rename | default $resource.name -}}
{{- if and $section.renameByDefault (not $resource.rename) -}}{{- $name = printf "%s.shared" $name -}}{{- end -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $names -}}{{- $names = list "nvidia.com/gpu" -}}{{- end -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* R of the key that nodes without a label get, else the first one's; 1 where nothing is shared. */}}
{{- define "tranche.defaultReplicas" -}}
{{- if gt (int .Values.defaultReplicasPerGpu) 0 -}}
{{- int .Values.defaultReplicasPerGpu -}}
{{- else if .Values.config.name -}}
{{- int .Values.replicas -}}
{{- else -}}
{{- $configs := include "tranche.configMap" . | fromYaml -}}
{{- $key := .Values.config.default | default (keys $configs | sortAlpha | first) -}}
{{- $sharing := (fromYaml (get $configs $key)).sharing | default dict -}}
{{- $replicas := 1 -}}
{{- range $strategy := list "timeSlicing" "mps" -}}
{{- range $resource := (get $sharing $strategy | default dict).resources -}}
{{- if eq $resource.name "nvidia.com/gpu" -}}{{- $replicas = int $resource.replicas -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $replicas -}}
{{- end -}}
{{- end -}}

{{- define "tranche.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "tranche.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "tranche.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  initialDelaySeconds: 20
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  initialDelaySeconds: 1
  periodSeconds: 2
{{- end -}}

{{/* Values that cannot be meant are refused here, in sentences. */}}
{{- define "tranche.validate" -}}
{{- if and .Values.config.map .Values.config.name -}}
{{- fail "config.map and config.name are both set: give the config's keys in config.map, or the name of a ConfigMap that exists in config.name, not both." -}}
{{- end -}}
{{- if and .Values.config.default .Values.config.map (not (hasKey .Values.config.map .Values.config.default)) -}}
{{- fail (printf "config.default is %q, which is no key of config.map; its keys are %s." .Values.config.default (keys .Values.config.map | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if not (has .Values.extender.mode (list "scheduler" "service")) -}}
{{- fail (printf "extender.mode is %q; allowed are scheduler (a stock kube-scheduler in our pod) and service (behind a Service, for a kube-scheduler of yours)." .Values.extender.mode) -}}
{{- end -}}
{{- if not (has .Values.extender.policy (list "load" "packed" "spread")) -}}
{{- fail (printf "extender.policy is %q; allowed are load, packed and spread." .Values.extender.policy) -}}
{{- end -}}
{{- if not (has .Values.guard.mode (list "audit" "void" "deny")) -}}
{{- fail (printf "guard.mode is %q; allowed are audit (tell, change nothing), void (take away what a patch can, tell the rest) and deny (refuse the pod)." .Values.guard.mode) -}}
{{- end -}}
{{- if and .Values.extender.enabled (not .Values.webhook.enabled) -}}
{{- fail "extender.enabled needs webhook.enabled: the webhook makes the certificates that node plugins trust the extender by, and sends pods to its scheduler. Switch both off for the node plugin alone." -}}
{{- end -}}
{{- end -}}
