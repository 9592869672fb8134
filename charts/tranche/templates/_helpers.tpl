{{- define "tranche.name" -}}
{{- default (default "tranche" .Values.nameOverride) .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The namespace of every object except the pod of `helm test`. */}}
{{- define "tranche.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "tranche.labels" -}}
{{ include "tranche.ownLabels" (dict "root" . "more" (list .Values.commonLabels)) }}
{{- end -}}

{{/* The user's labels, overridden by Tranche's own, by which selectors find the pods. */}}
{{- define "tranche.ownLabels" -}}
{{- $labels := dict -}}
{{- range $given := .more -}}
{{- range $key, $value := $given -}}{{- $_ := set $labels $key (include "tranche.text" $value) -}}{{- end -}}
{{- end -}}
{{- $_ := set $labels "app.kubernetes.io/name" (include "tranche.name" .root) -}}
{{- $_ := set $labels "app.kubernetes.io/instance" .root.Release.Name -}}
{{- $_ := set $labels "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- with .part -}}{{- $_ := set $labels "app.kubernetes.io/component" . -}}{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* A value as text. A number of a values file is a float, and toString would write 10000000 as 1e+07. A value that is absent has no text. */}}
{{- define "tranche.text" -}}
{{- if kindIs "float64" . -}}{{ toJson . }}{{- else if not (kindIs "invalid" .) -}}{{ toString . }}{{- end -}}
{{- end -}}

{{/* Labels of a part's pods: Tranche's labels, the part's name, and the part's podLabels. */}}
{{- define "tranche.podLabels" -}}
{{ include "tranche.ownLabels" (dict "root" .root "part" .part "more" (list .root.Values.commonLabels .labels)) }}
{{- end -}}

{{/* Annotations of a part's pods: those for Prometheus, overridden by the given maps; the last map takes precedence. */}}
{{- define "tranche.podAnnotations" -}}
{{- $annotations := dict "prometheus.io/scrape" "true" "prometheus.io/port" "9090" -}}
{{- range $given := . -}}
{{- range $key, $value := $given -}}{{- $_ := set $annotations $key (include "tranche.text" $value) -}}{{- end -}}
{{- end -}}
{{- toYaml $annotations -}}
{{- end -}}

{{/* The Secrets that have certificates, as a JSON list. cert-manager keeps its own CA elsewhere. */}}
{{- define "tranche.certificateSecrets" -}}
{{- $name := include "tranche.name" . -}}
{{- $secrets := list (printf "%s-webhook-tls" $name) (printf "%s-extender-tls" $name) -}}
{{- if not .Values.webhook.certManager.enabled -}}{{- $secrets = prepend $secrets (printf "%s-ca" $name) -}}{{- end -}}
{{- if and .Values.extender.enabled (eq .Values.extender.mode "service") -}}
{{- $secrets = append $secrets (printf "%s-scheduler-client-tls" $name) -}}
{{- end -}}
{{- toJson $secrets -}}
{{- end -}}

{{/* The port of the aggregated API; empty if it is off. An upgrade with --reuse-values may lack these values. */}}
{{- define "tranche.aggregatedPort" -}}
{{- $api := .Values.extender.api | default dict -}}
{{- $aggregated := $api.aggregated | default dict -}}
{{- if and .Values.extender.enabled $api.enabled $aggregated.enabled -}}{{ $aggregated.port | default 9446 }}{{- end -}}
{{- end }}

{{/* An upgrade with --reuse-values may lack this value. */}}
{{- define "tranche.webhookMetricsPort" -}}{{ .Values.webhook.metricsPort | default 9090 }}{{- end }}

{{- define "tranche.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion (include "tranche.text" .Values.image.tag) }}{{ end }}
{{- end -}}

{{/* The config's keys: the given ones, or one of the chart's own with `replicas` for every GPU; none if a ConfigMap is named. */}}
{{- define "tranche.configMap" -}}
{{- if .Values.config.map -}}
{{- /* Validated here, since every reader of the configs includes this; its own errors would be less clear. */ -}}
{{- include "tranche.validateConfig" . -}}
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

{{/* A resource's full name, since NVIDIA's file may omit the prefix. */}}
{{- define "tranche.resourceName" -}}
{{ if contains "/" . }}{{ . }}{{ else }}nvidia.com/{{ . }}{{ end }}
{{- end -}}

{{/* Not empty if a config may share by MPS. A ConfigMap that the chart does not create may do so, too. */}}
{{- define "tranche.mps" -}}
{{- if .Values.config.name -}}true
{{- else -}}
{{- range $key, $text := (include "tranche.configMap" . | fromYaml) -}}
{{- if ((fromYaml $text).sharing | default dict).mps -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The node plugin's environment by name: the chart's variables, then the given values of NVIDIA's chart, then the user's own. Later ones take precedence. */}}
{{- define "tranche.pluginEnv" -}}
{{- $name := include "tranche.name" . -}}
{{- $env := dict
  "NVIDIA_VISIBLE_DEVICES" "all"
  "NVIDIA_DRIVER_CAPABILITIES" "compute,utility"
  "NVIDIA_DRIVER_ROOT" (include "tranche.driverRoot" .)
  "FAIL_ON_INIT_ERROR" (.Values.failOnInitError | default false | toString)
  "DRIVER_ROOT_CTR_PATH" "/driver-root"
  "KUBELET_SOCKET" "/var/lib/kubelet/device-plugins/kubelet.sock"
  "TRANCHE_POD_RESOURCES_SOCKET" "/var/lib/kubelet/pod-resources/kubelet.sock"
  "TRANCHE_CONFIG_DIR" "/config"
  "TRANCHE_STATE_DIR" "/var/lib/tranche"
  "LOG_LEVEL" (.Values.logLevel | default "info")
  "LOG_FORMAT" (.Values.logFormat | default "text")
  "TRANCHE_PLAIN_REQUESTS" (and .Values.webhook.enabled (eq "gpus" (include "tranche.plainRequests" .)) | ternary "gpus" "replicas")
  "TRANCHE_SAMPLE_INTERVAL" .Values.nodePlugin.sampleInterval
  "TRANCHE_HEALTH_QUIET_PERIOD" .Values.nodePlugin.healthQuietPeriod
  "TRANCHE_MEMORY_LIMITS" (include "tranche.memoryLimits" .)
  "TRANCHE_POD_METRICS" (eq "open" (include "tranche.podMetrics" .) | toString) -}}
{{- if eq "required" (include "tranche.memoryLimits" .) -}}
{{- $_ := set $env "TRANCHE_HOST_LOG_DIR" "/host/log" -}}
{{- $_ := set $env "TRANCHE_MEMORY_LIMIT_OPT_OUT" (toString .Values.nodePlugin.memoryLimitOptOut) -}}
{{- $_ := set $env "TRANCHE_CGROUP_CTR_PATH" "/host/cgroup" -}}
{{- end -}}
{{- if .Values.nodePlugin.usagePerPod -}}
{{- $_ := set $env "TRANCHE_HOST_LOG_DIR" "/host/log" -}}
{{- $_ := set $env "TRANCHE_OVERUSE" .Values.nodePlugin.overuse -}}
{{- $_ := set $env "TRANCHE_OVERUSE_TOLERANCE" .Values.nodePlugin.overuseTolerance -}}
{{- end -}}
{{- if .Values.extender.enabled -}}
{{- $_ := set $env "TRANCHE_EXTENDER_ADDRESS" (printf "%s-extender-stream.%s.svc:9443" $name (include "tranche.namespace" .)) -}}
{{- $_ := set $env "TRANCHE_EXTENDER_CA_FILE" "/ca/ca.crt" -}}
{{- $_ := set $env "TRANCHE_EXTENDER_TOKEN_FILE" "/token/token" -}}
{{- end -}}
{{- if include "tranche.mps" . -}}{{- $_ := set $env "MPS_ROOT" .Values.mps.root -}}{{- end -}}
{{- $given := dict
  "DEFAULT_CONFIG" .Values.config.default
  "TRANCHE_NVIDIA_COMPATIBLE" (eq "extended" (toString .Values.config.nvidiaCompatible) | ternary "extended" "")
  "NVIDIA_DEV_ROOT" .Values.nvidiaDevRoot
  "MIG_STRATEGY" .Values.migStrategy
  "DEVICE_LIST_STRATEGY" .Values.deviceListStrategy
  "DEVICE_ID_STRATEGY" .Values.deviceIDStrategy
  "DEVICE_DISCOVERY_STRATEGY" .Values.deviceDiscoveryStrategy
  "PASS_DEVICE_SPECS" .Values.compatWithCPUManager
  "GDRCOPY_ENABLED" .Values.gdrcopyEnabled
  "GDS_ENABLED" .Values.gdsEnabled
  "MOFED_ENABLED" .Values.mofedEnabled
  "NVIDIA_CDI_HOOK_PATH" .Values.cdi.nvidiaHookPath
  "CDI_FEATURE_FLAGS" .Values.cdi.featureFlags -}}
{{- range $key, $value := $given -}}
{{- if kindIs "slice" $value -}}{{- $value = join "," $value -}}{{- end -}}
{{- if and (not (kindIs "invalid" $value)) (ne (toString $value) "") -}}{{- $_ := set $env $key (toString $value) -}}{{- end -}}
{{- end -}}
{{- range $key, $value := .Values.nodePlugin.env -}}{{- $_ := set $env $key (include "tranche.text" $value) -}}{{- end -}}
{{- range .Values.env -}}{{- $_ := set $env .name (include "tranche.text" .value) -}}{{- end -}}
{{- range $key := keys $env -}}{{- if kindIs "invalid" (get $env $key) -}}{{- $_ := unset $env $key -}}{{- end -}}{{- end -}}
{{- if and (not (hasKey $env "NVIDIA_MIG_MONITOR_DEVICES")) (include "tranche.mig" (dict "root" . "env" $env)) -}}
{{- $_ := set $env "NVIDIA_MIG_MONITOR_DEVICES" "all" -}}
{{- end -}}
{{- toYaml $env -}}
{{- end -}}

{{/* "true" if containers may get their GPUs by CDI: the plugin then writes the specs to the node's folder. */}}
{{- define "tranche.cdi" -}}
{{- $said := printf "%s %s" (include "tranche.pluginEnv" .) (include "tranche.configMap" .) -}}
{{- if or .Values.config.name (regexMatch "cdi-(cri|annotations)" $said) -}}true{{- end -}}
{{- end -}}

{{/* A config (`text`) as the node plugin counts it. Unless `extended`, it lacks what NVIDIA's plugin ignores, and resources that no device then has. Of entries with the same name, the one with the most replicas counts. */}}
{{- define "tranche.countedConfig" -}}
{{- $config := fromYaml .text -}}
{{- if ne (.root.Values.config.nvidiaCompatible | default "strict") "extended" -}}
{{- $_ := unset $config "resources" -}}
{{- if ($config.sharing | default dict).mps -}}{{- $_ := unset $config.sharing "timeSlicing" -}}{{- end -}}
{{- range $strategy := list "timeSlicing" "mps" -}}
{{- $section := get ($config.sharing | default dict) $strategy | default dict -}}
{{- $most := dict -}}
{{- range $entry := $section.resources -}}
{{- $name := include "tranche.resourceName" $entry.name -}}
{{- $before := get $most $name | default dict -}}
{{- $known := or (eq $name "nvidia.com/gpu") (hasPrefix "nvidia.com/mig-" $name) -}}
{{- if and $known (gt (int $entry.replicas) (int $before.replicas)) -}}{{- $_ := set $most $name (omit $entry "rename" "devices") -}}{{- end -}}
{{- end -}}
{{- $entries := list -}}
{{- range $name := keys $most | sortAlpha -}}{{- $entries = append $entries (get $most $name) -}}{{- end -}}
{{- if $section.resources -}}{{- $_ := set $section "resources" $entries -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The extended resources that the configs advertise, as a JSON list. A config may rename resources, so all keys are read. */}}
{{- define "tranche.resources" -}}
{{- $names := list -}}
{{- if .Values.advertisedResources -}}
{{- $names = .Values.advertisedResources -}}
{{- else -}}
{{- range $key, $text := (include "tranche.configMap" . | fromYaml) -}}
{{- $config := include "tranche.countedConfig" (dict "root" $ "text" $text) | fromYaml -}}
{{- $sharing := $config.sharing | default dict -}}
{{- range $rule := ($config.resources | default dict).gpus -}}
{{- $names = concat $names (list "nvidia.com/gpu" (include "tranche.resourceName" $rule.name)) -}}
{{- end -}}
{{- range $rule := ($config.resources | default dict).mig -}}
{{- $names = append $names (include "tranche.resourceName" $rule.name) -}}
{{- end -}}
{{- range $strategy := list "timeSlicing" "mps" -}}
{{- $section := get $sharing $strategy | default dict -}}
{{- range $resource := $section.resources -}}
{{- $name := include "tranche.resourceName" ($resource.rename | default $resource.name) -}}
{{- if and $section.renameByDefault (not $resource.rename) -}}{{- $name = printf "%s.shared" $name -}}{{- end -}}
{{- $names = append $names $name -}}
{{- /* GPUs that the entry does not cover keep the original name. So do all GPUs while no MPS control daemon serves. */ -}}
{{- if or (ne (toString ($resource.devices | default "all")) "all") (eq $strategy "mps") -}}{{- $names = append $names (include "tranche.resourceName" $resource.name) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* Always included: a node whose label names another key, or none, may advertise it. */ -}}
{{- $names = append $names "nvidia.com/gpu" -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* The key of nodes without a label, as the node plugin chooses it: the default, else "default", else the only one, else none. */}}
{{- define "tranche.defaultKey" -}}
{{- $keys := keys (include "tranche.configMap" . | fromYaml) -}}
{{- if .Values.config.default -}}{{ .Values.config.default }}
{{- else if has "default" $keys -}}default
{{- else if eq (len $keys) 1 -}}{{ first $keys }}
{{- end -}}
{{- end -}}

{{/*
How a config's `sharing` splits nvidia.com/gpu, as JSON: `strategy`, as the node's label spells it, and `replicas`. Of several entries the first one counts,
since the extender labels a node by its first GPUs.
*/}}
{{- define "tranche.shared" -}}
{{- $shared := dict "strategy" "none" "replicas" 1 -}}
{{- range $section, $strategy := dict "timeSlicing" "time-slicing" "mps" "mps" -}}
{{- range $entry := (get $ $section | default dict).resources -}}
{{- if and (eq $shared.strategy "none") (eq (include "tranche.resourceName" $entry.name) "nvidia.com/gpu") -}}
{{- $shared = dict "strategy" $strategy "replicas" (int $entry.replicas) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $shared -}}
{{- end -}}

{{/* The unit of a plain number: replicas if the user's config or another plugin sets their number, else GPUs. */}}
{{- define "tranche.plainRequests" -}}
{{- $theirs := or .Values.config.name (not (empty .Values.config.map)) (not .Values.nodePlugin.enabled) -}}
{{- .Values.plainRequests | default (ternary "replicas" "gpus" (not (empty $theirs))) -}}
{{- end -}}

{{/* Replicas per GPU for the key that nodes without a label get, else for the key that an autoscaler's nodes will have; 1 if nothing is shared. */}}
{{- define "tranche.defaultReplicas" -}}
{{- if gt (int .Values.defaultReplicasPerGpu) 0 -}}
{{- int .Values.defaultReplicasPerGpu -}}
{{- else if .Values.config.name -}}
{{- int .Values.replicas -}}
{{- else -}}
{{- $key := include "tranche.defaultKey" . | default .Values.autoscaling.configKey -}}
{{- $text := get (include "tranche.configMap" . | fromYaml) $key -}}
{{- $config := include "tranche.countedConfig" (dict "root" . "text" $text) | fromYaml -}}
{{- (include "tranche.shared" ($config.sharing | default dict) | fromJson).replicas | int -}}
{{- end -}}
{{- end -}}

{{/* Labels and annotations are strings; `--set nodeSelector.x=true` gives a boolean, which the API server would refuse. */}}
{{- define "tranche.strings" -}}
{{- $strings := dict -}}
{{- range $key, $value := . -}}{{- $_ := set $strings $key (include "tranche.text" $value) -}}{{- end -}}
{{- toYaml $strings -}}
{{- end -}}

{{/* NVIDIA's chart has null for these if nothing is chosen. */}}
{{- define "tranche.driverRoot" -}}{{ .Values.nvidiaDriverRoot | default "/" | clean }}{{- end -}}
{{- define "tranche.kubeletRoot" -}}{{ .Values.kubeletRoot | default "/var/lib/kubelet" | clean }}{{- end -}}

{{/* For both DaemonSets. No surge: two plugin pods for one resource on a node would close each other's connection to the kubelet. */}}
{{- define "tranche.updateStrategy" -}}
{{- $strategy := deepCopy (.Values.updateStrategy | default dict) -}}
{{- $_ := set $strategy "type" ($strategy.type | default "RollingUpdate") -}}
{{- if eq $strategy.type "RollingUpdate" -}}
{{- $rolling := $strategy.rollingUpdate | default dict -}}
{{- $_ := set $strategy "rollingUpdate" (dict "maxUnavailable" ($rolling.maxUnavailable | default "10%") "maxSurge" 0) -}}
{{- else -}}
{{- $strategy = omit $strategy "rollingUpdate" -}}
{{- end -}}
{{- toYaml $strategy -}}
{{- end -}}

{{/* Where the webhook and the extender run: on different nodes if possible, unless `affinity` says otherwise. */}}
{{- define "tranche.spread" -}}
affinity:
  {{- if .part.affinity }}
  {{- toYaml .part.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {app.kubernetes.io/name: {{ include "tranche.name" .root }}, app.kubernetes.io/component: {{ .name }}}
  {{- end }}
{{- with .part.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
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

{{/* The user's affinity, plus a rule against nodes whose driver or MIG layout the GPU Operator is changing: it cannot do that while GPUs are held. The DaemonSet controller ends pods on nodes that no longer match. */}}
{{- define "tranche.gpuNodeAffinity" -}}
{{- include "tranche.nodeAffinity" (dict "root" . "alternatives" (list (list))) -}}
{{- end -}}

{{/* The same, and a label that allows MPS: NVIDIA's, or ours where GPU Feature Discovery sets NVIDIA's to false. */}}
{{- define "tranche.mpsNodeAffinity" -}}
{{- $alternatives := list -}}
{{- range $key := list "nvidia.com/mps.capable" "tranche.dev/mps-capable" -}}
{{- $alternatives = append $alternatives (list (dict "key" $key "operator" "In" "values" (list "true"))) -}}
{{- end -}}
{{- include "tranche.nodeAffinity" (dict "root" . "alternatives" $alternatives) -}}
{{- end -}}

{{/* The user's affinity (of `root`), off nodes that the GPU Operator has paused, with one of the `alternatives`: lists of expressions. */}}
{{- define "tranche.nodeAffinity" -}}
{{- $alternatives := .alternatives -}}
{{- $paused := list "paused-for-driver-upgrade" "paused-for-mig-change" "paused-for-vgpu-change" -}}
{{- $off := list -}}
{{- range list "device-plugin" "client" -}}
{{- $off = append $off (dict "key" (printf "nvidia.com/gpu.deploy.%s" .) "operator" "NotIn" "values" $paused) -}}
{{- end -}}
{{- $affinity := deepCopy (.root.Values.affinity | default dict) -}}
{{- $node := $affinity.nodeAffinity | default dict -}}
{{- $required := $node.requiredDuringSchedulingIgnoredDuringExecution | default dict -}}
{{- $terms := list -}}
{{- range $required.nodeSelectorTerms | default (list (dict)) -}}
{{- $term := . -}}
{{- range $alternatives -}}
{{- $expressions := concat ($term.matchExpressions | default list) $off . -}}
{{- $terms = append $terms (merge (dict "matchExpressions" $expressions) $term) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- $_ := set $affinity "nodeAffinity" $node -}}
{{- toYaml $affinity -}}
{{- end -}}

{{/* off or required. YAML reads an off without quotes as false. */}}
{{- define "tranche.memoryLimits" -}}
{{- ternary "required" "off" (eq "required" (toString .Values.nodePlugin.memoryLimits)) -}}
{{- end -}}

{{/* open or authorized. */}}
{{- define "tranche.podMetrics" -}}
{{- .Values.monitoring.podMetrics | default "open" -}}
{{- end -}}

{{/* Folders of the host that make up the driver's root, as JSON. Of the host's own root only these are mounted: the whole root would expose root's files and sockets in the container. */}}
{{- define "tranche.driverFolders" -}}
{{- if eq (include "tranche.driverRoot" .) "/" -}}["/usr","/lib","/dev"]{{- else -}}[]{{- end -}}
{{- end -}}

{{- define "tranche.driverMounts" -}}
{{- range include "tranche.driverFolders" . | fromJsonArray }}
- {name: driver{{ . | replace "/" "-" }}, mountPath: /driver-root{{ . }}, readOnly: true, mountPropagation: HostToContainer}
{{- else }}
- {name: driver-root, mountPath: /driver-root, readOnly: true, mountPropagation: HostToContainer}
{{- end }}
{{- end -}}

{{- define "tranche.driverVolumes" -}}
{{- range include "tranche.driverFolders" . | fromJsonArray }}
- name: driver{{ . | replace "/" "-" }}
  hostPath: {path: {{ . | quote }}}
{{- else }}
- name: driver-root
  hostPath: {path: {{ include "tranche.driverRoot" $ | quote }}}
{{- end }}
{{- end -}}

{{/* No liveness probe: each process ends itself if its event loop stands still. Somebody with the node's address could make a probe fail. */}}
{{- define "tranche.probes" -}}
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  initialDelaySeconds: 1
  periodSeconds: 2
{{- end -}}

{{/* Refuses values that are gone, and says what takes their place. values.schema.json marks them as deprecated, so that they come this far. */}}
{{- define "tranche.validateGone" -}}
{{- $gone := dict
  "nodePlugin.memoryLimitsSetBy" "NVIDIA's hook sets all memory limits"
  "extender.mpsLoad" "policy load counts SM utilization under MPS too, since pods placed by SM activity lost more work"
  "webhook.plainRequestsServedBy" "pods choose the nodes of a DRA driver by a nodeSelector, or by tranche.dev/plain-requests: unchanged, on the pod or as a label of its namespace"
  "extender.unlimitedPods" "delete the pods that the event ContainerMemoryNotLimited names, their owners create them again"
-}}
{{- range $value, $instead := $gone -}}
{{- $path := splitList "." $value -}}
{{- $given := get (get $.Values (first $path) | default dict) (last $path) | toString -}}
{{- /* What was the default means what is done now. */ -}}
{{- if not (has $given (list "" "device-plugin")) -}}
{{- fail (printf "%s is gone: %s. Remove it from your values." $value $instead) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses combinations of values that contradict each other, with the reason. values.schema.json checks each value by itself. */}}
{{- define "tranche.validate" -}}
{{- if and .Values.config.map .Values.config.name -}}
{{- fail "config.map and config.name are both set: give the config's keys in config.map, or the name of a ConfigMap that exists in config.name, not both." -}}
{{- end -}}
{{- $configs := include "tranche.configMap" . | fromYaml -}}
{{- /* 10 was the default before, which --reuse-values keeps. */ -}}
{{- if and .Values.config.map (not (has (int .Values.replicas) (list 10 20))) -}}
{{- fail (printf "replicas is %v and has no effect beside config.map: give the number in the config, as sharing.timeSlicing.resources[].replicas or sharing.mps.resources[].replicas, and remove replicas." .Values.replicas) -}}
{{- end -}}
{{- if and .Values.config.default (not .Values.config.name) (not (hasKey $configs .Values.config.default)) -}}
{{- fail (printf "config.default is %q, which is not a key of %s; its keys are %s." .Values.config.default (ternary "the config that the chart makes" "config.map" (empty .Values.config.map)) (keys $configs | sortAlpha | join ", ")) -}}
{{- end -}}
{{- include "tranche.validateGone" . -}}
{{- include "tranche.validateForeign" . -}}
{{- include "tranche.validateUid" . -}}
{{- if and .Values.extender.enabled (eq .Values.extender.mode "scheduler") (eq .Values.scheduler.name "default-scheduler") -}}
{{- fail "scheduler.name is default-scheduler, which the cluster's own kube-scheduler already serves: two schedulers of one name would both bind the same pods. Choose another name, or set extender.mode=service and configure your kube-scheduler as deploy/scheduler-existing.yaml does." -}}
{{- end -}}
{{- if and .Values.nodePlugin.enabled (eq "authorized" (include "tranche.podMetrics" .)) (not (and .Values.extender.enabled (.Values.extender.api | default dict).enabled)) -}}
{{- fail "monitoring.podMetrics=authorized needs extender.enabled and extender.api.enabled: nobody else would serve the use of each pod. Enable both, or set monitoring.podMetrics=open." -}}
{{- end -}}
{{- if .Values.monitoring.prometheusRule.enabled -}}
{{- if and (or .Values.webhook.enabled .Values.extender.enabled) (not .Values.monitoring.serviceMonitor.enabled) -}}
{{- fail "monitoring.prometheusRule.enabled needs monitoring.serviceMonitor.enabled: the alerts count on the labels that it writes, and would never fire without them." -}}
{{- end -}}
{{- if and .Values.nodePlugin.enabled (not .Values.monitoring.podMonitor.enabled) -}}
{{- fail "monitoring.prometheusRule.enabled needs monitoring.podMonitor.enabled: the alerts count on the labels that it writes, and would never fire without them." -}}
{{- end -}}
{{- end -}}
{{- if eq (include "tranche.webhookMetricsPort" .) (toString (.Values.webhook.securePort | default 8443)) -}}
{{- fail (printf "webhook.metricsPort and webhook.securePort are both %v; a port serves one of them, so choose another for one." .Values.webhook.securePort) -}}
{{- end -}}
{{- if and .Values.runtimeClass.create (not .Values.runtimeClass.name) -}}
{{- fail "runtimeClass.create is true and runtimeClass.name is empty: give the name of the RuntimeClass that is to be created, such as nvidia." -}}
{{- end -}}
{{- if and .Values.extender.enabled (not .Values.webhook.enabled) -}}
{{- fail "extender.enabled needs webhook.enabled: the webhook creates the certificates by which node plugins trust the extender, and assigns pods to its scheduler. Disable both to install only the node plugin." -}}
{{- end -}}
{{- if and .Values.webhook.enabled .Values.guard.enabled (eq .Values.guard.mode "deny") (not .Values.webhook.admissionPolicies) -}}
{{- fail "guard.mode=deny needs webhook.admissionPolicies: the policies alone decide what is refused. Set webhook.admissionPolicies=true, or guard.mode=void." -}}
{{- end -}}
{{- end -}}

{{/* Refuses values of NVIDIA's charts that Tranche does not support, and says what to do instead. */}}
{{- define "tranche.validateForeign" -}}
{{- if hasSuffix "k8s-device-plugin" .Values.image.repository -}}
{{- fail (printf "image.repository is %q, which is NVIDIA's image and has no Tranche in it: leave image.repository and image.tag out of values that come from NVIDIA's chart, or give Tranche's image." .Values.image.repository) -}}
{{- end -}}
{{- if kindIs "slice" .Values.resources -}}
{{- fail "resources is a list. The names of extended resources are given in advertisedResources; resources are the node plugin's requests and limits, as in NVIDIA's chart." -}}
{{- end -}}
{{- if (.Values.gfd | default dict).enabled -}}
{{- fail "gfd.enabled is true, and this chart has no GPU Feature Discovery: the extender labels GPU nodes by itself. Set gfd.enabled=false; where other labels of it are needed, install NVIDIA's chart beside this one with devicePlugin.enabled=false and gfd.enabled=true." -}}
{{- end -}}
{{- if (.Values.nfd | default dict).enabled -}}
{{- fail "nfd.enabled is true, and this chart has no Node Feature Discovery. Set nfd.enabled=false, and choose nodes with nodeSelector or affinity; an NFD that runs already may stay." -}}
{{- end -}}
{{- $devicePlugin := .Values.devicePlugin | default dict -}}
{{- if and (not (kindIs "invalid" $devicePlugin.enabled)) (ne (toString $devicePlugin.enabled) (toString .Values.nodePlugin.enabled)) -}}
{{- fail (printf "devicePlugin.enabled is %v and nodePlugin.enabled is %v; here the value is nodePlugin.enabled, so set that." $devicePlugin.enabled .Values.nodePlugin.enabled) -}}
{{- end -}}
{{- if eq "true" (toString $devicePlugin.enableHostNetwork) -}}
{{- fail "devicePlugin.enableHostNetwork is true, and the node plugin has no use for the node's network: its port 9090 would be a port of the node. Leave it out, or set it to false." -}}
{{- end -}}
{{- $operator := omit $devicePlugin "enabled" "enableHostNetwork" -}}
{{- if $operator -}}
{{- fail (printf "devicePlugin.%s is a value of the GPU Operator's chart. Here config.map, config.name and config.default replace devicePlugin.config, env replaces devicePlugin.env, and image replaces its repository and version." (keys $operator | sortAlpha | first)) -}}
{{- end -}}
{{- with .Values.selectorLabelsOverride -}}
{{- fail "selectorLabelsOverride is set, and selectors here are fixed, since a Deployment's cannot change. Add labels with commonLabels, nodePlugin.podLabels, webhook.podLabels or extender.podLabels." -}}
{{- end -}}
{{- range $strategy := .Values.config.fallbackStrategies -}}
{{- if not (has $strategy (list "named" "single")) -}}
{{- fail (printf "config.fallbackStrategies has %q. A node without the label nvidia.com/device-plugin.config gets config.default, else the key named default (named), else the only key (single), else none: leave fallbackStrategies empty, or give [named, single]." $strategy) -}}
{{- end -}}
{{- end -}}
{{- end -}}
