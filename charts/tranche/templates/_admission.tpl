{{/* Resources that send a pod to the webhook, as a CEL list: Tranche's, and with compat.hami HAMi's. */}}
{{- define "tranche.requestedResources" -}}
{{- $names := include "tranche.resources" . | fromJsonArray -}}
{{- if .Values.webhook.compat.hami -}}
{{- $names = concat $names (list "nvidia.com/gpumem" "nvidia.com/gpumem-percentage" "nvidia.com/gpucores") -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* Annotations of other systems that send a pod to the webhook, as a CEL list. */}}
{{- define "tranche.requestAnnotations" -}}
{{- $annotations := list -}}
{{- if .Values.webhook.compat.kai -}}
{{- $annotations = list "gpu-fraction" "gpu-memory" "gpu-fraction-num-devices" "gpu-fraction-container-name" -}}
{{- end -}}
{{- $annotations | toJson -}}
{{- end -}}

{{/* CEL: whether the annotation k is KAI's memory request or limit of a container. */}}
{{- define "tranche.kaiMemory" -}}
(k.startsWith('nvidia.com/container.') && (k.endsWith('.gpu-memory.request') || k.endsWith('.gpu-memory.limit')))
{{- end -}}

{{/* CEL: whether the annotation k requests a share. */}}
{{- define "tranche.requestsShare" -}}
k in ['tranche.dev/gpu-fraction', 'tranche.dev/gpu-memory'{{ if .Values.webhook.compat.kai }}, 'gpu-fraction', 'gpu-memory'{{ end }}] || k.startsWith('tranche.dev/gpu-fraction.') || k.startsWith('tranche.dev/gpu-memory.'){{ if .Values.webhook.compat.kai }} || {{ include "tranche.kaiMemory" . }}{{ end }}
{{- end -}}

{{/* The annotations of pods that have one name each, without tranche.dev/. */}}
{{- define "tranche.annotationNames" -}}
{{- list "gpu" "gpu-fraction" "gpu-memory" "gpu-memory-limit" "gpu-count" "gpu-container" "gpu-placement" "gpu-model" "gpu-uuid" "gpus-requested" "gpus-served-by" "replicas-per-gpu" "granted-fraction" "granted-memory" "granted-replicas" "gpu-model-granted" | toJson -}}
{{- end -}}

{{/* CEL: the annotations of Tranche by name, with those of single containers. The API server's time to go through a pod's annotations grows with the
square of their number, so those of a pod with more than 1,000 are looked up. */}}
{{- define "tranche.annotationsByName" -}}
['tranche.dev/{{ include "tranche.annotationNames" . | fromJsonArray | join "', 'tranche.dev/" }}'{{ range include "tranche.requestAnnotations" . | fromJsonArray }}, '{{ . }}'{{ end }}]
{{- end -}}

{{/* CEL: whether the pod has an annotation of one of these names, or one of a container that requests a share. */}}
{{- define "tranche.hasAnnotationByName" -}}
{{ .annotations }}.exists(k, k in object.metadata.annotations)
|| {{ include "tranche.containersRequestByName" (dict "root" .root "containers" "object.spec.containers") }}
|| (has(object.spec.initContainers) && {{ include "tranche.containersRequestByName" (dict "root" .root "containers" "object.spec.initContainers") }})
{{- end -}}

{{- define "tranche.containersRequestByName" -}}
{{ .containers }}.exists(c, ('tranche.dev/gpu-fraction.' + c.name) in object.metadata.annotations || ('tranche.dev/gpu-memory.' + c.name) in object.metadata.annotations
{{- if .root.Values.webhook.compat.kai }} || ('nvidia.com/container.' + c.name + '.gpu-memory.request') in object.metadata.annotations || ('nvidia.com/container.' + c.name + '.gpu-memory.limit') in object.metadata.annotations{{ end }})
{{- end -}}

{{/* CEL: whether the annotation k is a request, or a Tranche annotation that the extender trusts. */}}
{{- define "tranche.fixedAnnotation" -}}
k.startsWith('tranche.dev/gpu') || k in ['tranche.dev/replicas-per-gpu', 'tranche.dev/granted-fraction', 'tranche.dev/granted-memory', 'tranche.dev/granted-replicas']
{{- end -}}

{{/* Pattern of a share: above 0, and a whole number if above 1. It accepts more than the webhook does, so that no valid share causes a warning. */}}
{{- define "tranche.fraction" -}}
^\s*(0*\.0*[1-9][0-9]*|0*[1-9][0-9]*(\.0+)?|[0-9.]*[1-9][0-9.]*%|[0-9]+\s*/\s*[0-9]+)\s*$
{{- end -}}

{{/* CEL: the annotations of a pod, or of a workload's pod template. dyn, since only a CronJob has a jobTemplate. */}}
{{- define "tranche.templateAnnotations" -}}
{{- $job := "dyn(object).spec.jobTemplate.spec.template" -}}
{{- $other := "dyn(object).spec.template" -}}
(has(dyn(object).spec.containers)
? (has(object.metadata.annotations) ? object.metadata.annotations : dyn({}))
: has(dyn(object).spec.jobTemplate)
? (has({{ $job }}.metadata) && has({{ $job }}.metadata.annotations) ? {{ $job }}.metadata.annotations : dyn({}))
: (has({{ $other }}) && has({{ $other }}.metadata) && has({{ $other }}.metadata.annotations) ? {{ $other }}.metadata.annotations : dyn({})))
{{- end -}}

{{/* CEL: whether a workload's pod template has the container that variables.gpuContainer names. Of a pod, the webhook knows. */}}
{{- define "tranche.templateHasGpuContainer" -}}
{{- $found := list -}}
{{- range $spec := list "dyn(object).spec.jobTemplate.spec.template.spec" "dyn(object).spec.template.spec" -}}
{{- $found = append $found (printf `(has(%[1]s)
  && (has(%[1]s.containers) && %[1]s.containers.exists(c, c.name == variables.gpuContainer)
  || has(%[1]s.initContainers) && %[1]s.initContainers.exists(c, c.name == variables.gpuContainer)))` $spec) -}}
{{- end -}}
(has(dyn(object).spec.containers)
? true
: has(dyn(object).spec.jobTemplate)
? {{ first $found }}
: {{ last $found }})
{{- end -}}

{{/* Whether k looks like a misspelt annotation of a pod. The extender's own pods have the last one. */}}
{{- define "tranche.unknownAnnotation" -}}
{{- $known := append (append (append (include "tranche.annotationNames" . | fromJsonArray) "plain-requests") "webhook-added") "scheduler-config" -}}
k.startsWith('tranche.dev/') && !k.startsWith('tranche.dev/gpu-fraction.') && !k.startsWith('tranche.dev/gpu-memory.') && !k.startsWith('tranche.dev/gpu-memory-limit.') && !(k in ['tranche.dev/{{ join "', 'tranche.dev/" $known }}'])
{{- end -}}

{{/* CEL: whether k has the name of an annotation of ours and almost our prefix: at most two neighbouring characters differ, or what follows the first label. */}}
{{- define "tranche.wrongPrefix" -}}
{{- $near := list "tranche([.].*)?" -}}
{{- range until 10 -}}{{- $near = append $near (printf "%s.{0,3}%s" (substr 0 . "tranche.dev") (substr (int (add . 2)) 11 "tranche.dev")) -}}{{- end -}}
k.contains('/gpu-') && !k.startsWith('tranche.dev/') && k.matches('^({{ join "|" $near }})/gpu-(fraction|memory|memory-limit|count|container|placement|model|uuid)([.].*)?$')
{{- end -}}

{{/* The extender's ServiceAccount as a user name of the API server. */}}
{{- define "tranche.extenderAccount" -}}
system:serviceaccount:{{ include "tranche.namespace" . }}:{{ include "tranche.name" . }}-extender
{{- end -}}

{{/* The webhook's ServiceAccount as a user name of the API server. */}}
{{- define "tranche.webhookAccount" -}}
system:serviceaccount:{{ include "tranche.namespace" . }}:{{ include "tranche.name" . }}-webhook
{{- end -}}

{{/* Other systems whose annotations and resources the webhook accepts, comma-separated. */}}
{{- define "tranche.dialects" -}}
{{- $on := list -}}
{{- range $system := list "kai" "hami" -}}
{{- if get $.Values.webhook.compat $system -}}{{- $on = append $on $system -}}{{- end -}}
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

{{/* CEL: whether the pod is no mirror of a static pod that its node creates. A changed mirror changes nothing. A pod of somebody else that claims to be
a mirror is never run, but may hold GPUs. */}}
{{- define "tranche.notMirror" -}}
!has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)
|| !has(request.userInfo.groups) || !('system:nodes' in request.userInfo.groups)
{{- end -}}

{{/* CEL: whether the webhook changed the pod at its creation: it has replicas, nodes of a DRA driver, or Tranche's scheduler. */}}
{{- define "tranche.wasChanged" -}}
(has(oldObject.metadata.annotations) && ('tranche.dev/replicas-per-gpu' in oldObject.metadata.annotations || 'tranche.dev/gpus-served-by' in oldObject.metadata.annotations))
{{- if and .Values.extender.enabled (eq .Values.extender.mode "scheduler") }} || (has(oldObject.spec.schedulerName) && oldObject.spec.schedulerName == {{ .Values.scheduler.name | squote }}){{ end }}
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

{{/* CEL: whether a pod has an annotation or a resource that sends it to the webhook. A LimitRange may write 0 into every container. */}}
{{- define "tranche.podRequestsGpu" -}}
(has(object.metadata.annotations) && (size(object.metadata.annotations) > 1000
? {{ include "tranche.hasAnnotationByName" (dict "root" .root "annotations" (include "tranche.annotationsByName" .root)) }}
: object.metadata.annotations.exists(k, k.startsWith('tranche.dev/'){{ if .root.Values.webhook.compat.kai }} || k in {{ include "tranche.requestAnnotations" .root }} || {{ include "tranche.kaiMemory" .root }}{{ end }})))
|| object.spec.containers.exists(c, has(c.resources) && (
(has(c.resources.limits) && {{ .resources }}.exists(r, r in c.resources.limits && c.resources.limits[r] != '0'))
|| (has(c.resources.requests) && {{ .resources }}.exists(r, r in c.resources.requests && c.resources.requests[r] != '0'))))
|| (has(object.spec.initContainers) && object.spec.initContainers.exists(c, has(c.resources) && (
(has(c.resources.limits) && {{ .resources }}.exists(r, r in c.resources.limits && c.resources.limits[r] != '0'))
|| (has(c.resources.requests) && {{ .resources }}.exists(r, r in c.resources.requests && c.resources.requests[r] != '0')))))
{{- end -}}

{{/* CEL: whether a container requests some of the resources, a CEL list. A LimitRange may write 0 into every container. */}}
{{- define "tranche.requestsNumber" -}}
object.spec.containers.exists(c, has(c.resources) && has(c.resources.limits) && {{ . }}.exists(r, r in c.resources.limits && dyn(c.resources.limits[r]) != '0'))
|| (has(object.spec.initContainers) && object.spec.initContainers.exists(c,
has(c.resources) && has(c.resources.limits) && {{ . }}.exists(r, r in c.resources.limits && dyn(c.resources.limits[r]) != '0')))
{{- end -}}

{{/* The table of the guard's rules. */}}
{{- define "tranche.guardTable" -}}
{{- .Files.Get "guard.yaml" -}}
{{- end -}}

{{/* CEL: whether the annotation k is a device. */}}
{{- define "tranche.deviceAnnotation" -}}
{{- $keys := (include "tranche.guardTable" . | fromYaml).annotations -}}
{{- range without (include "tranche.cdiAnnotationPrefixes" . | splitList ",") "" -}}{{- $keys = append $keys (printf "%s*" .) -}}{{- end -}}
{{- $terms := list -}}
{{- range $key := $keys | uniq -}}
{{- $text := $key | trimAll "*" | squote -}}
{{- if and (hasPrefix "*" $key) (hasSuffix "*" $key) -}}{{- $terms = append $terms (printf "k.contains(%s)" $text) -}}
{{- else if hasPrefix "*" $key -}}{{- $terms = append $terms (printf "k.endsWith(%s)" $text) -}}
{{- else if hasSuffix "*" $key -}}{{- $terms = append $terms (printf "k.startsWith(%s)" $text) -}}
{{- else -}}{{- $terms = append $terms (printf "k == %s" $text) -}}
{{- end -}}
{{- end -}}
{{- join " || " $terms -}}
{{- end -}}

{{/* CEL: whether the container c requests a GPU. The policies' variables say of which resources. */}}
{{- define "tranche.requestsGpu" -}}
has(c.resources) && has(c.resources.limits) && c.resources.limits.exists(r, (r in variables.gpuResources || (variables.anyNode && r.startsWith('nvidia.com/mig-'))) && c.resources.limits[r] != '0')
{{- end -}}

{{/* Conditions of every policy of the guard. A Binding has no spec. It and an update cannot make a pod a mirror of a static pod. */}}
{{- define "tranche.guardedPods" -}}
- name: is-no-mirror-of-a-static-pod
  expression: >-
    request.operation != 'CREATE' || !has(dyn(object).spec) || {{ include "tranche.notMirror" . | nindent 4 | trim }}
- name: is-not-for-windows
  expression: >-
    !has(dyn(object).spec) || !has(dyn(object).spec.os) || dyn(object).spec.os.name != 'windows'
{{- with .Values.guard.exemptServiceAccounts }}
- name: is-not-exempt
  expression: >-
    !has(dyn(object).spec) || !(request.namespace + ':'
    + (has(dyn(object).spec.serviceAccountName) && dyn(object).spec.serviceAccountName != '' ? dyn(object).spec.serviceAccountName : 'default') in {{ toJson . }})
{{- end }}
{{- end -}}

{{/* The namespaces of guard.exemptNamespaces, as a JSON list, for the `modes` of a webhook's entry or a policy. Where only `deny` applies, the chart's own list
counts with kube-system alone: a namespace of the other names may be anybody's, from before the policy that protects them. The same cluster or none, it is rendered alike. */}}
{{- define "tranche.exemptNamespaces" -}}
{{- $given := .root.Values.guard.exemptNamespaces | default list -}}
{{- $own := list "kube-system" "gpu-operator" "nvidia-gpu-operator" "dcgm-exporter" -}}
{{- $strict := or (eq .root.Values.guard.mode "deny") (eq (toJson .modes) (toJson (list "deny"))) -}}
{{- if and $strict (eq (toJson $given) (toJson $own)) -}}{{ toJson (list "kube-system") }}{{- else -}}{{ toJson $given }}{{- end -}}
{{- end -}}

{{/* A binding's namespaces: those whose mode is among the given ones. A policy fails closed, so it spares what the cluster and Tranche need to start. */}}
{{- define "tranche.guardedNamespaces" -}}
{{- $root := .root -}}
{{- $modes := .modes -}}
{{- $kept := concat (list (include "tranche.namespace" $root) "kube-system") (include "tranche.exemptNamespaces" . | fromJsonArray) -}}
namespaceSelector:
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: {{ $kept | uniq | toJson }}}
    {{- if has $root.Values.guard.mode $modes }}
    {{- $others := list "exempt" -}}
    {{- range $mode := list "audit" "void" "deny" -}}{{- if not (has $mode $modes) -}}{{- $others = append $others $mode -}}{{- end -}}{{- end }}
    - {key: tranche.dev/guard, operator: NotIn, values: {{ toJson $others }}}
    {{- else }}
    - {key: tranche.dev/guard, operator: In, values: {{ toJson $modes }}}
    {{- end }}
{{- end -}}

{{/* Variables of the guard's policies that say what can reach a GPU. */}}
{{- define "tranche.guardVariables" -}}
{{- $managed := include "tranche.resources" . | fromJsonArray -}}
{{- $nvidia := (include "tranche.guardTable" . | fromYaml).lists.nvidiaResources -}}
# A pod that names its node skips the scheduler: the kubelet runs it even if the node lacks what it requests.
- name: anyNode
  expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''"
- name: gpuResources
  expression: >-
    variables.anyNode ? {{ concat $managed $nvidia | uniq | toJson }} : {{ toJson $managed }}
- name: nvidiaRuntime
  expression: {{ if .Values.guard.assumeDefaultRuntime }}"true"{{ else }}has(object.spec.runtimeClassName) && object.spec.runtimeClassName != ''{{ end }}
{{- end -}}

{{/* The DeviceClasses of guard.deviceClasses, as a CEL list. Earlier charts had the denied ones there; --reuse-values brings their own list. */}}
{{- define "tranche.allowedDeviceClasses" -}}
{{- $denied := list "gpu.nvidia.com" "mig.nvidia.com" "vfio.gpu.nvidia.com" -}}
{{- $classes := .Values.guard.deviceClasses | default list -}}
{{- if eq (toJson $classes) (toJson $denied) -}}{{- $classes = list -}}{{- end -}}
{{- range $gpus := $denied -}}
{{- if has $gpus $classes -}}
{{- fail (printf "guard.deviceClasses lists the DeviceClasses that are allowed under deny, and %s has GPUs that Tranche does not count. Remove it and your other classes of GPUs, and keep those of other devices; a namespace with the label tranche.dev/guard: void may claim GPUs." $gpus) -}}
{{- end -}}
{{- end -}}
{{- toJson $classes -}}
{{- end -}}

{{/* The paths of guard.allowedHostPaths, as a CEL list. Below a path that a pod may mount, another pod can put a link in the place of a folder. */}}
{{- define "tranche.allowedHostPaths" -}}
{{- $paths := .Values.guard.allowedHostPaths | default list -}}
{{- range $path := $paths -}}
{{- range $other := $paths -}}
{{- if hasPrefix (printf "%s/" (trimSuffix "/" $path)) $other -}}
{{- if ne $path $other -}}
{{- fail (printf "guard.allowedHostPaths has %s and, below it, %s: a pod that mounts the first could replace the second by a link. Keep one of them." $path $other) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $paths -}}
{{- end -}}
