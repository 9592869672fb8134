{{/* Refuses values without one that templates read. A key with nothing behind it, as `config:`, is null, and Helm then takes the chart's own value away. */}}
{{- define "tranche.validatePresence" -}}
{{- range $path := include "tranche.needed" . | fromJsonArray -}}
{{- $value := $.Values -}}
{{- range $key := splitList "." $path -}}{{- $value = index ($value | default dict) $key -}}{{- end -}}
{{- if kindIs "invalid" $value -}}
{{- fail (printf "%s is null: your values have the key with nothing behind it, or come from an earlier release by --reuse-values. Leave the key out or give it a value, and upgrade with --reset-then-reuse-values." $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Sections, the outer ones first. Then single values whose absence would break an object, or switch off in silence what is on by default. */}}
{{- define "tranche.needed" -}}
{{- list "image" "config" "runtimeClass" "cdi" "mps" "criticalPodsQuota" "nodePlugin" "webhook" "webhook.compat" "webhook.certManager" "guard" "extender" "extender.api" "scheduler" "scheduler.image" "monitoring" "monitoring.serviceMonitor" "monitoring.podMonitor" "monitoring.prometheusRule" "networkPolicies" "autoscaling" "autoscaling.karpenter" "autoscaling.karpenter.nodePool" "autoscaling.karpenter.nodeClass" "autoscaling.clusterAutoscaler" "test" "cleanup" "image.repository" "replicas" "mps.root" "criticalPodsQuota.pods" "nodePlugin.enabled" "nodePlugin.usagePerPod" "nodePlugin.memoryLimitOptOut" "webhook.enabled" "webhook.replicas" "webhook.timeoutSeconds" "webhook.admissionPolicies" "webhook.gpuMemoryReserve" "webhook.compat.kai" "webhook.compat.hami" "webhook.hostNetwork" "guard.enabled" "guard.mode" "guard.assumeDefaultRuntime" "guard.timeoutSeconds" "extender.enabled" "extender.mode" "extender.replicas" "extender.policy" "extender.memoryGuard" "extender.api.enabled" "extender.api.port" "extender.api.localPort" "scheduler.name" "scheduler.image.repository" "scheduler.logVerbosity" "autoscaling.karpenter.nodePool.create" "autoscaling.karpenter.nodePool.name" "test.namespace" "cleanup.enabled" | toJson -}}
{{- end -}}

{{/* Refuses durations that the node plugin would refuse on every node. */}}
{{- define "tranche.validateDurations" -}}
{{- range $key, $limits := dict "sampleInterval" (list "100ms" "60s") "healthQuietPeriod" (list "0s" "24h") -}}
{{- $given := index $.Values.nodePlugin $key -}}
{{- if not (kindIs "invalid" $given) -}}
{{- $ms := include "tranche.milliseconds" $given -}}
{{- $least := include "tranche.milliseconds" (first $limits) -}}
{{- $most := include "tranche.milliseconds" (last $limits) -}}
{{- if or (not $ms) (lt (int64 $ms) (int64 $least)) (gt (int64 $ms) (int64 $most)) -}}
{{- fail (printf "nodePlugin.%s is %q, which is no duration from %s to %s: write a whole number with ms, s, m, h or d." $key $given (first $limits) (last $limits)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A duration in milliseconds; empty if it is none. */}}
{{- define "tranche.milliseconds" -}}
{{- if regexMatch "^[0-9]{1,6}(ms|s|m|h|d)$" . -}}
{{- $unit := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- mul (regexFind "^[0-9]+" . | int64) (get $unit (regexFind "[a-z]+$" .)) -}}
{{- end -}}
{{- end -}}
