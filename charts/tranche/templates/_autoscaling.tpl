{{/* Every part tolerates the startup taint. If an autoscaler adds the first nodes, webhook and extender have to run before the taint is removed. */}}
{{- define "tranche.tolerations" -}}
{{- $tolerations := . | default list -}}
{{- range $key := list "tranche.dev/plugin-not-ready" "startup-taint.cluster-autoscaler.kubernetes.io/tranche-plugin-not-ready" -}}
{{- $tolerations = append $tolerations (dict "key" $key "operator" "Exists") -}}
{{- end -}}
{{- toYaml $tolerations -}}
{{- end -}}

{{/* Tolerations of the DaemonSets: their pods also run on an autoscaler's nodes, which have permanent taints. */}}
{{- define "tranche.nodeTolerations" -}}
{{- $tolerations := .Values.tolerations | default list -}}
{{- range .Values.autoscaling.taints -}}
{{- $tolerations = append $tolerations (dict "key" .key "operator" "Exists" "effect" .effect) -}}
{{- end -}}
{{- include "tranche.tolerations" ($tolerations | uniq) -}}
{{- end -}}

{{/* The key of the config that an autoscaler's nodes will have; empty if none is chosen or the chart cannot know it. */}}
{{- define "tranche.nodeConfigKey" -}}
{{- .Values.autoscaling.configKey | default (include "tranche.defaultKey" .) -}}
{{- end -}}

{{/* The config that an autoscaler's nodes will have, as YAML; empty if the chart cannot see it. */}}
{{- define "tranche.nodeConfig" -}}
{{- if not .Values.config.name -}}
{{- include "tranche.countedConfig" (dict "root" . "text" (get (include "tranche.configMap" . | fromYaml) (include "tranche.nodeConfigKey" .))) -}}
{{- end -}}
{{- end -}}

{{/* What a node with this number of GPUs (`gpus`) offers once its plugin has registered, as a JSON map of resources to numbers. */}}
{{- define "tranche.offer" -}}
{{- $root := .root -}}
{{- $left := int .gpus -}}
{{- $offer := dict -}}
{{- if $root.Values.config.name -}}
{{- $_ := set $offer (first $root.Values.advertisedResources | default "nvidia.com/gpu") (mul $left (int (include "tranche.defaultReplicas" $root))) -}}
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
{{- /* GPUs that no entry covers. It is set even if it is 0: otherwise an autoscaler would use the number that it knows of the instance type. */ -}}
{{- $_ := set $offer "nvidia.com/gpu" (add (get $offer "nvidia.com/gpu" | default 0) $left) -}}
{{- toJson $offer -}}
{{- end -}}

{{/* What a node of each instance type offers, as a JSON map. */}}
{{- define "tranche.nodeOffers" -}}
{{- $offers := dict -}}
{{- range $type, $gpus := .Values.autoscaling.instanceTypes -}}
{{- $_ := set $offers $type (kindIs "map" $gpus | ternary $gpus (include "tranche.offer" (dict "root" $ "gpus" $gpus) | fromJson)) -}}
{{- end -}}
{{- toJson $offers -}}
{{- end -}}

{{/* Not empty if nodes of some type offer nvidia.com/gpu resources: the extender sets the label for replicas on no other nodes. */}}
{{- define "tranche.offersGpus" -}}
{{- range $type, $offer := include "tranche.nodeOffers" . | fromJson -}}
{{- range $resource, $count := $offer -}}
{{- if and (hasPrefix "nvidia.com/gpu" $resource) (gt (int $count) 0) -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels that an autoscaler's nodes start with, as YAML: those that the webhook's node affinity requires, and NVIDIA's of the same meaning. */}}
{{- define "tranche.nodeLabels" -}}
{{- $labels := dict -}}
{{- $sharing := (include "tranche.nodeConfig" . | fromYaml).sharing | default dict -}}
{{- if $sharing.mps -}}
{{- range $key := list "nvidia.com/mps.capable" "tranche.dev/mps-capable" -}}{{- $_ := set $labels $key "true" -}}{{- end -}}
{{- end -}}
{{- if include "tranche.offersGpus" . -}}
{{- $shared := include "tranche.shared" $sharing | fromJson -}}
{{- $replicas := .Values.config.name | empty | ternary (toString (int $shared.replicas)) (include "tranche.defaultReplicas" .) -}}
{{- /* The webhook decides by ours. A user's nodeSelector or node affinity may name NVIDIA's. */ -}}
{{- range $key := list "nvidia.com/gpu.replicas" "tranche.dev/replicas-per-gpu" -}}{{- $_ := set $labels $key $replicas -}}{{- end -}}
{{- if not .Values.config.name -}}
{{- range $key := list "nvidia.com/gpu.sharing-strategy" "tranche.dev/sharing-strategy" -}}{{- $_ := set $labels $key $shared.strategy -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling.configKey -}}{{- $_ := set $labels "nvidia.com/device-plugin.config" . -}}{{- end -}}
{{- range $key, $value := .Values.autoscaling.labels -}}{{- $_ := set $labels $key (include "tranche.text" $value) -}}{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* Refuses values that an autoscaler could not use, with the reason. */}}
{{- define "tranche.validateAutoscaling" -}}
{{- $autoscaling := .Values.autoscaling -}}
{{- $configs := include "tranche.configMap" . | fromYaml -}}
{{- if and $autoscaling.configKey (not .Values.config.name) (not (hasKey $configs $autoscaling.configKey)) -}}
{{- fail (printf "autoscaling.configKey is %q, which is not a key of %s; its keys are %s." $autoscaling.configKey (ternary "the config that the chart makes" "config.map" (empty .Values.config.map)) (keys $configs | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if or $autoscaling.karpenter.enabled $autoscaling.clusterAutoscaler.enabled -}}
{{- if not $autoscaling.instanceTypes -}}
{{- fail "autoscaling.instanceTypes is empty, so the chart cannot tell an autoscaler what its nodes offer: give the GPUs of each instance type, for example {g5.xlarge: 1, g5.12xlarge: 4}." -}}
{{- end -}}
{{- if and (not .Values.config.name) (not (include "tranche.nodeConfigKey" .)) -}}
{{- fail (printf "config.map has several keys and none is that of nodes without a label, so the chart cannot tell an autoscaler what its nodes offer: name one in autoscaling.configKey or config.default; the keys are %s." (keys $configs | sortAlpha | join ", ")) -}}
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
{{- fail "autoscaling.karpenter.enabled needs to know how machines are created: give nodeClass.clusterName, which selects role, subnets and security groups, or nodeClass.spec, or the name of your own EC2NodeClass in nodePool.nodeClassName." -}}
{{- end -}}
{{- end -}}
