{{/* Resources that send a pod to the webhook, as a CEL list: Tranche's, and with compat.hami HAMi's. */}}
{{- define "tranche.askedResources" -}}
{{- $names := include "tranche.resources" . | fromJsonArray -}}
{{- if .Values.webhook.compat.hami -}}
{{- $names = concat $names (list "nvidia.com/gpumem" "nvidia.com/gpumem-percentage" "nvidia.com/gpucores") -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* Annotations of other systems that send a pod to the webhook, as a CEL list. */}}
{{- define "tranche.askedAnnotations" -}}
{{- $words := list -}}
{{- if .Values.webhook.compat.kai -}}
{{- $words = list "gpu-fraction" "gpu-memory" "gpu-fraction-num-devices" "gpu-fraction-container-name" -}}
{{- end -}}
{{- $words | toJson -}}
{{- end -}}

{{/* CEL: whether the annotation k is KAI's memory request or limit of a container. */}}
{{- define "tranche.kaiMemory" -}}
(k.startsWith('nvidia.com/container.') && (k.endsWith('.gpu-memory.request') || k.endsWith('.gpu-memory.limit')))
{{- end -}}

{{/* CEL: whether the annotation k asks for a share. */}}
{{- define "tranche.asksForShare" -}}
k in ['tranche.dev/gpu-fraction', 'tranche.dev/gpu-memory'{{ if .Values.webhook.compat.kai }}, 'gpu-fraction', 'gpu-memory'{{ end }}] || k.startsWith('tranche.dev/gpu-fraction.') || k.startsWith('tranche.dev/gpu-memory.'){{ if .Values.webhook.compat.kai }} || {{ include "tranche.kaiMemory" . }}{{ end }}
{{- end -}}

{{/* CEL: whether the annotation k is a request, or a Tranche annotation that the extender trusts. */}}
{{- define "tranche.fixedAnnotation" -}}
k.startsWith('tranche.dev/gpu') || k in ['tranche.dev/replicas-per-gpu', 'tranche.dev/granted-fraction']
{{- end -}}

{{/* Pattern of a share: above 0, and a whole number if above 1. It accepts more than the webhook does, so that no valid share causes a warning. */}}
{{- define "tranche.fraction" -}}
^\s*(0*\.0*[1-9][0-9]*|0*[1-9][0-9]*(\.0+)?|[0-9.]*[1-9][0-9.]*%|[0-9]+\s*/\s*[0-9]+)\s*$
{{- end -}}

{{/* CEL: the annotations of a workload's pod template. dyn, since only a CronJob has a jobTemplate. */}}
{{- define "tranche.templateAnnotations" -}}
{{- $job := "dyn(object).spec.jobTemplate.spec.template" -}}
{{- $other := "dyn(object).spec.template" -}}
(has(dyn(object).spec.jobTemplate)
? (has({{ $job }}.metadata) && has({{ $job }}.metadata.annotations) ? {{ $job }}.metadata.annotations : dyn({}))
: (has({{ $other }}) && has({{ $other }}.metadata) && has({{ $other }}.metadata.annotations) ? {{ $other }}.metadata.annotations : dyn({})))
{{- end -}}

{{/* The extender's ServiceAccount as a user name of the API server. */}}
{{- define "tranche.extenderAccount" -}}
system:serviceaccount:{{ include "tranche.namespace" . }}:{{ include "tranche.name" . }}-extender
{{- end -}}

{{/* Other systems whose annotations and resources the webhook accepts, comma-separated. */}}
{{- define "tranche.dialects" -}}
{{- $on := list -}}
{{- range $word := list "kai" "hami" -}}
{{- if get $.Values.webhook.compat $word -}}{{- $on = append $on $word -}}{{- end -}}
{{- end -}}
{{- $on | join "," -}}
{{- end -}}

{{/* Scheduler names of pods that the webhook rewrites, as a CEL list. */}}
{{- define "tranche.schedulerNames" -}}
{{- $names := list "" "default-scheduler" -}}
{{- if and .Values.extender.enabled (eq .Values.extender.mode "scheduler") -}}
{{- $names = append $names .Values.scheduler.name -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* CEL: whether the pod is no mirror of a static pod. A changed mirror changes nothing, and the kubelet runs no container of a pod that claims to be one. */}}
{{- define "tranche.notMirror" -}}
!has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)
{{- end -}}

{{/* Prefixes of annotations that runtimes read as CDI devices, besides cdi.k8s.io/, comma-separated: the given ones, and those that the plugin writes. */}}
{{- define "tranche.cdiAnnotationPrefixes" -}}
{{- $prefixes := (.Values.guard.cdiAnnotationPrefixes | default list) -}}
{{- with get (include "tranche.pluginEnv" . | fromYaml) "CDI_ANNOTATION_PREFIX" -}}{{- $prefixes = append $prefixes . -}}{{- end -}}
{{- range $key, $text := (include "tranche.configMap" . | fromYaml) -}}
{{- $flags := get ($text | fromYaml) "flags" | default dict -}}
{{- $plugin := get $flags "plugin" | default dict -}}
{{- with get $plugin "cdiAnnotationPrefix" -}}{{- $prefixes = append $prefixes . -}}{{- end -}}
{{- end -}}
{{- without ($prefixes | uniq) "cdi.k8s.io/" | join "," -}}
{{- end -}}
