{{/* Stood by every part of ours: on a cluster whose first nodes are an autoscaler's, webhook and extender have to run before the taint is lifted. */}}
{{- define "tranche.tolerations" -}}
{{- $tolerations := . | default list -}}
{{- range $key := list "tranche.dev/plugin-not-ready" "startup-taint.cluster-autoscaler.kubernetes.io/tranche-plugin-not-ready" -}}
{{- $tolerations = append $tolerations (dict "key" $key "operator" "Exists") -}}
{{- end -}}
{{- toYaml $tolerations -}}
{{- end -}}

{{/* The key of the config that an autoscaler's nodes will have; empty where a ConfigMap of somebody else's is named. */}}
{{- define "tranche.nodeConfigKey" -}}
{{- if .Values.autoscaling.configKey -}}
{{- .Values.autoscaling.configKey -}}
{{- else if not .Values.config.name -}}
{{- .Values.config.default | default (keys (include "tranche.configMap" . | fromYaml) | sortAlpha | first) -}}
{{- end -}}
{{- end -}}

{{/* That config, as YAML; empty where the chart cannot see it. */}}
{{- define "tranche.nodeConfig" -}}
{{- if not .Values.config.name -}}
{{- get (include "tranche.configMap" . | fromYaml) (include "tranche.nodeConfigKey" .) -}}
{{- end -}}
{{- end -}}

{{/* What a node of so many GPUs (`gpus`) offers when its plugin has registered, as JSON: resource to number. */}}
{{- define "tranche.offer" -}}
{{- $root := .root -}}
{{- $left := int .gpus -}}
{{- $offer := dict -}}
{{- if $root.Values.config.name -}}
{{- $_ := set $offer (first $root.Values.resources | default "nvidia.com/gpu") (mul $left (int (include "tranche.defaultReplicas" $root))) -}}
{{- $left = 0 -}}
{{- else -}}
{{- $sharing := (include "tranche.nodeConfig" $root | fromYaml).sharing | default dict -}}
{{- range $strategy := list "timeSlicing" "mps" -}}
{{- $section := get $sharing $strategy | default dict -}}
{{- range $entry := $section.resources -}}
{{- if eq (include "tranche.resourceName" $entry.name) "nvidia.com/gpu" -}}
{{- $devices := $entry.devices | default "all" -}}
{{- $shared := $left -}}
{{- if kindIs "slice" $devices -}}
{{- $there := 0 -}}
{{- range $devices -}}{{- if and (regexMatch "^[0-9]+$" (toString .)) (lt (int .) (int $.gpus)) -}}{{- $there = add1 $there -}}{{- end -}}{{- end -}}
{{- $shared = min $left $there | int -}}
{{- else if ne (toString $devices) "all" -}}{{- $shared = min $left (int $devices) | int -}}
{{- end -}}
{{- $name := include "tranche.resourceName" ($entry.rename | default (ternary "gpu.shared" "gpu" (eq true $section.renameByDefault))) -}}
{{- $_ := set $offer $name (add (get $offer $name | default 0) (mul $shared (int $entry.replicas))) -}}
{{- $left = sub $left $shared | int -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* Those that no entry takes, and said in any case: an autoscaler knows the instance type's own number and would go by that. */ -}}
{{- $_ := set $offer "nvidia.com/gpu" (add (get $offer "nvidia.com/gpu" | default 0) $left) -}}
{{- toJson $offer -}}
{{- end -}}

{{/* Instance type to what a node of it offers, as JSON. */}}
{{- define "tranche.nodeOffers" -}}
{{- $offers := dict -}}
{{- range $type, $gpus := .Values.autoscaling.instanceTypes -}}
{{- $_ := set $offers $type (kindIs "map" $gpus | ternary $gpus (include "tranche.offer" (dict "root" $ "gpus" $gpus) | fromJson)) -}}
{{- end -}}
{{- toJson $offers -}}
{{- end -}}

{{/* Labels that an autoscaler's nodes start with, as YAML: those that pods are bound to by the webhook's affinity, since it looks for no others. */}}
{{- define "tranche.nodeLabels" -}}
{{- $labels := dict -}}
{{- if .Values.config.name -}}
{{- $_ := set $labels "nvidia.com/gpu.replicas" (include "tranche.defaultReplicas" .) -}}
{{- else -}}
{{- $sharing := (include "tranche.nodeConfig" . | fromYaml).sharing | default dict -}}
{{- $_ := set $labels "nvidia.com/gpu.replicas" "1" -}}
{{- $_ := set $labels "nvidia.com/gpu.sharing-strategy" "none" -}}
{{- range $strategy, $label := dict "timeSlicing" "time-slicing" "mps" "mps" -}}
{{- range $entry := (get $sharing $strategy | default dict).resources -}}
{{- if eq (include "tranche.resourceName" $entry.name) "nvidia.com/gpu" -}}
{{- $_ := set $labels "nvidia.com/gpu.replicas" (toString (int $entry.replicas)) -}}
{{- $_ := set $labels "nvidia.com/gpu.sharing-strategy" $label -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $sharing.mps -}}{{- $_ := set $labels "nvidia.com/mps.capable" "true" -}}{{- end -}}
{{- end -}}
{{- with .Values.autoscaling.configKey -}}{{- $_ := set $labels "nvidia.com/device-plugin.config" . -}}{{- end -}}
{{- range $key, $value := .Values.autoscaling.labels -}}{{- $_ := set $labels $key (toString $value) -}}{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* Refusals, in sentences. */}}
{{- define "tranche.validateAutoscaling" -}}
{{- $autoscaling := .Values.autoscaling -}}
{{- if and $autoscaling.configKey .Values.config.map (not (hasKey .Values.config.map $autoscaling.configKey)) -}}
{{- fail (printf "autoscaling.configKey is %q, which is no key of config.map; its keys are %s." $autoscaling.configKey (keys .Values.config.map | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if or $autoscaling.karpenter.enabled $autoscaling.clusterAutoscaler.enabled -}}
{{- if not $autoscaling.instanceTypes -}}
{{- fail "autoscaling.instanceTypes is empty, so an autoscaler could not be told what its nodes offer: give the GPUs of each instance type, for example {g5.xlarge: 1, g5.12xlarge: 4}." -}}
{{- end -}}
{{- $config := include "tranche.nodeConfig" . | fromYaml -}}
{{- $mig := .Values.migStrategy | default ($config.flags | default dict).migStrategy | default "none" -}}
{{- if or (ne $mig "none") $config.resources -}}
{{- range $type, $gpus := $autoscaling.instanceTypes -}}
{{- if not (kindIs "map" $gpus) -}}
{{- fail (printf "autoscaling.instanceTypes says that %s has %v GPUs, and with %s what they become depends on the GPUs themselves: give what a node of it offers instead, for example {%s: {nvidia.com/mig-1g.5gb: 7}}." $type $gpus (ternary "resources by model in the config" (printf "migStrategy %s" $mig) (eq $mig "none")) $type) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $karpenter := $autoscaling.karpenter -}}
{{- if and $karpenter.enabled $karpenter.nodePool.create (not $karpenter.nodePool.nodeClassName) (not $karpenter.nodeClass.clusterName) (not $karpenter.nodeClass.spec) -}}
{{- fail "autoscaling.karpenter.enabled needs to know how machines are made: give nodeClass.clusterName, by which role, subnets and security groups are found, or nodeClass.spec, or the name of an EC2NodeClass of yours in nodePool.nodeClassName." -}}
{{- end -}}
{{- end -}}
