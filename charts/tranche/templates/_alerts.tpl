{{/* The Prometheus rules. A disabled part has no alerts, since absent() would fire permanently. */}}
{{- define "tranche.alerts" -}}
{{- $name := include "tranche.name" . -}}
{{- $ns := include "tranche.namespace" . -}}
groups:
{{- if .Values.webhook.enabled }}
  - name: {{ $name }}-webhook
    rules:
      - alert: TrancheWebhookDown
        expr: absent(tranche_webhook_nodes{namespace="{{ $ns }}"})
        for: 5m
        labels: {severity: critical}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheWebhookDown") }}
          summary: No webhook responds, so pods that request a GPU share cannot be created.
          description: Look at kubectl -n {{ $ns }} get pods -l app.kubernetes.io/component=webhook. Other pods are created as before.
      - alert: TrancheWebhookNotReady
        expr: max by (namespace) (tranche_webhook_ready{namespace="{{ $ns }}"}) == 0
        for: 5m
        labels: {severity: critical}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheWebhookNotReady") }}
          summary: No webhook is ready, so pods that request a GPU share cannot be created.
          description: /readyz of its pods, port 9090, says what is missing.
      - alert: TrancheAdmissionSlow
        expr: histogram_quantile(0.99, sum by (namespace, le) (rate(tranche_webhook_admission_duration_seconds_bucket{namespace="{{ $ns }}"}[10m]))) > 1
        for: 15m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheAdmissionSlow") }}
          summary: One in a hundred reviews takes the webhook more than a second.
          description: Every pod's creation waits for it. Give the webhook more CPU, or more replicas.
      - alert: TrancheCertificateExpiresSoon
        # Renewal starts with a third of the lifetime left, so at a sixth half of the time for it has passed. If the lifetime is years, 30 days are enough.
        # kube-scheduler calls only the leading extender; a former leader still reports an earlier certificate.
        expr: |
          {{- $own := "tranche_webhook_certificate" }}
          {{- $shown := "tranche_extender_client_certificate" }}
          {{- $in := printf "timestamp_seconds{namespace=%q}" $ns }}
          {{ $own }}_expiry_{{ $in }} - time()
            < clamp_max(({{ $own }}_expiry_{{ $in }} - {{ $own }}_start_{{ $in }}) / 6, 30 * 86400)
            or max by (namespace, certificate) ({{ $shown }}_expiry_{{ $in }}) - time()
            < clamp_max((max by (namespace, certificate) ({{ $shown }}_expiry_{{ $in }}) - max by (namespace, certificate) ({{ $shown }}_start_{{ $in }})) / 6, 30 * 86400)
        for: 1h
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheCertificateExpiresSoon") }}
          summary: {{ print "The certificate {{ $labels.certificate }} has less than a sixth of its lifetime left and was not renewed." | quote }}
          description: The webhook's log says why; tranche_webhook_tls_failures_total counts the attempts. The certificate kube-scheduler is the copy that your kube-scheduler presents to the extender; copy it again from its Secret.
      - alert: TrancheCertificateRenewalFailing
        expr: increase(tranche_webhook_tls_failures_total{namespace="{{ $ns }}"}[30m]) > 5
        for: 30m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheCertificateRenewalFailing") }}
          summary: The webhook fails to maintain the certificates of the webhook and of the extender.
          description: Its log has the cause. The current certificates are served until they expire.
      {{- if .Values.guard.enabled }}
      - alert: TrancheGuardFinding
        expr: sum by (finding, outcome) (increase(tranche_webhook_guard_findings_total{namespace="{{ $ns }}",finding!="privileged"}[15m])) > 0
        labels: {severity: info}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheGuardFinding") }}
          summary: {{ print "Pods tried to access GPUs that they were not granted: {{ $labels.finding }}, {{ $labels.outcome }}." | quote }}
          description: The events and the webhook's log name the pods.
      {{- end }}
{{- end }}
{{- if .Values.extender.enabled }}
  - name: {{ $name }}-extender
    rules:
      - alert: TrancheExtenderDown
        expr: absent(tranche_extender_streams{namespace="{{ $ns }}"})
        for: 5m
        labels: {severity: critical}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheExtenderDown") }}
          summary: No extender responds, so pods that request a GPU stay pending.
          description: Look at kubectl -n {{ $ns }} get pods -l app.kubernetes.io/component=extender. Running pods are not affected.
      - alert: TrancheExtenderNotReady
        expr: max by (namespace) (tranche_extender_ready{namespace="{{ $ns }}"}) == 0
        for: 5m
        labels: {severity: critical}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheExtenderNotReady") }}
          summary: No extender is ready, so pods that request a GPU stay pending.
          description: /readyz of its pods, port 9090, says what is missing. Running pods are not affected.
      - alert: TrancheVerbErrors
        expr: |
          sum by (namespace, verb) (rate(tranche_extender_verb_duration_seconds_count{namespace="{{ $ns }}",outcome="error"}[15m]))
            > 0.1 * sum by (namespace, verb) (rate(tranche_extender_verb_duration_seconds_count{namespace="{{ $ns }}"}[15m]))
        for: 15m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheVerbErrors") }}
          summary: {{ print "More than a tenth of the extender's answers to {{ $labels.verb }} are errors." | quote }}
          description: kube-scheduler retries these pods. The FailedScheduling events and the extender's log have the message.
      - alert: TrancheVerbSlow
        expr: histogram_quantile(0.99, sum by (namespace, verb, le) (rate(tranche_extender_verb_duration_seconds_bucket{namespace="{{ $ns }}"}[10m]))) > 1
        for: 15m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheVerbSlow") }}
          summary: {{ print "One in a hundred answers of the extender to {{ $labels.verb }} takes more than a second." | quote }}
          description: kube-scheduler decides on one pod at a time, so all pods wait. Give the extender more CPU.
      - alert: TrancheAcknowledgementsLate
        expr: increase(tranche_extender_bind_ack_timeouts_total{namespace="{{ $ns }}"}[15m]) > 5
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheAcknowledgementsLate") }}
          summary: Nodes do not acknowledge assignments of GPUs to pods, so binds fail.
          description: The FailedScheduling events name the nodes. Their plugin or its stream is slow.
      - alert: TrancheWatchStale
        expr: max by (namespace, kind) (tranche_extender_watch_age_seconds{namespace="{{ $ns }}"}) > 300
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheWatchStale") }}
          summary: {{ print "The extender has received nothing about {{ $labels.kind }} from the API server for minutes." | quote }}
          description: It decides with outdated data. Its log says why the watch does not open.
      - alert: TrancheStartupTaintNotRemoved
        expr: max by (namespace) (tranche_extender_startup_tainted_nodes{namespace="{{ $ns }}"}) > 0
        for: 30m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheStartupTaintNotRemoved") }}
          summary: For half an hour there was always a node with the taint tranche.dev/plugin-not-ready.
          description: If it is the same node, its node plugin does not serve. Look at the plugin's pod there.
      - alert: TrancheReportsStale
        expr: max by (node, UUID) (tranche_extender_gpu_measured{namespace="{{ $ns }}"}) == 0
        for: 10m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheReportsStale") }}
          summary: {{ print "The load of GPU {{ $labels.UUID }} of node {{ $labels.node }} is unknown." | quote }}
          description: The node plugin there or its stream to the extender is down, or NVML does not return the load.
      - alert: TrancheDrift
        expr: increase(tranche_extender_drift_total{namespace="{{ $ns }}"}[1h]) > 0
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheDrift") }}
          summary: The kubelet gave a pod another GPU than the one assigned.
          description: The pod has its share, but not on the chosen GPU. The extender's log names pod and GPUs.
      - alert: TrancheGpuAllocatedTwice
        expr: max by (namespace) (tranche_extender_mistaken_pods{namespace="{{ $ns }}",mistake="GpuAllocatedTwice"}) > 0
        labels: {severity: critical}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheGpuAllocatedTwice") }}
          summary: The kubelet gave the same replica of a GPU to two pods.
          description: The event GpuAllocatedTwice on both pods names the replica. Delete one of the two pods.
      - alert: TrancheFragmentedPodsPending
        expr: max(tranche_pending_fragmented_pods{namespace="{{ $ns }}"}) > 0
        for: 30m
        labels: {severity: info}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheFragmentedPodsPending") }}
          summary: "Pods are pending although their node has enough free replicas: no single GPU has."
          description: kubectl tranche explain shows the free replicas of each GPU. A smaller share may fit, and the policy packed reduces fragmentation.
      - alert: TrancheVerbsShed
        expr: increase(tranche_extender_verbs_shed_total{namespace="{{ $ns }}"}[10m]) > 0
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheVerbsShed") }}
          summary: {{ print "The extender refuses requests ({{ $labels.verb }}) unread, because too many are queued." | quote }}
          description: kube-scheduler retries them. Give the extender more CPU if this lasts.
      {{- if .Values.monitoring.prometheusRule.idlePods }}
      - alert: TranchePodIdle
        expr: max by (exported_namespace, exported_pod, UUID) (tranche_pod_gpu_idle_seconds{namespace="{{ $ns }}"}) > 3600
        labels: {severity: info}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TranchePodIdle") }}
          summary: {{ print "Pod {{ $labels.exported_namespace }}/{{ $labels.exported_pod }} holds a part of GPU {{ $labels.UUID }} and has not used it for an hour." | quote }}
          description: Ask its owner whether the pod still needs the GPU. Nobody else can use that part meanwhile.
      {{- end }}
{{- end }}
{{- if .Values.nodePlugin.enabled }}
  - name: {{ $name }}-node-plugin
    rules:
      - alert: TrancheNodePluginNotRegistered
        expr: tranche_node_registered{namespace="{{ $ns }}"} == 0 and on (namespace, pod) tranche_node_replicas_advertised > 0
        for: 5m
        labels: {severity: critical}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheNodePluginNotRegistered") }}
          summary: {{ print "The kubelet of node {{ $labels.node }} has not registered the node plugin {{ $labels.pod }}." | quote }}
          description: New GPU pods fail there. The plugin's log says what the kubelet answered.
      - alert: TrancheNodePluginsGone
        # No series is counted where all are gone. They stay gone for the alert as long as the extender knows GPUs that nobody measures.
        expr: |
          {{- $plugins := printf "tranche_node_registered{namespace=%q}" $ns }}
          (count by (namespace) ({{ $plugins }}) or 0 * count by (namespace) ({{ $plugins }} offset 30m))
            < 0.9 * count by (namespace) ({{ $plugins }} offset 30m)
            {{- if .Values.extender.enabled }}
            or absent({{ $plugins }}) and on (namespace) max by (namespace) (tranche_extender_gpu_measured{namespace="{{ $ns }}"}) == 0
            {{- end }}
        for: 10m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheNodePluginsGone") }}
          summary: More than a tenth of the node plugins that ran half an hour ago are gone.
          description: If the nodes still exist, look at the DaemonSet's events, its image and its nodeSelector. If an autoscaler has removed them, nothing is wrong.
      - alert: TrancheNodePluginNotReady
        # Where the driver hangs, the process ends every few minutes, and is then not scraped for a while.
        expr: max_over_time(tranche_node_ready{namespace="{{ $ns }}"}[10m]) == 0
        for: 15m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheNodePluginNotReady") }}
          summary: {{ print "The node plugin {{ $labels.pod }} of node {{ $labels.node }} is not ready." | quote }}
          description: /readyz of the pod, port 9090, says what is missing.
      - alert: TrancheGpuUnhealthy
        expr: tranche_gpu_healthy{namespace="{{ $ns }}"} == 0
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheGpuUnhealthy") }}
          summary: {{ print "GPU {{ $labels.gpu }} ({{ $labels.UUID }}) of node {{ $labels.node }} takes no new pods." | quote }}
          description: The node's events name the error. It recovers by itself, unless the error needs a reset.
      - alert: TrancheNodeProblem
        expr: max by (namespace, node, pod, reason) (tranche_node_problems{namespace="{{ $ns }}"}) > 0
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheNodeProblem") }}
          summary: {{ print "Node {{ $labels.node }} has a persistent problem: {{ $labels.reason }}." | quote }}
          description: The node's event of this reason has the details. GPUs that it does not name work.
      - alert: TrancheConfigRefused
        expr: tranche_node_config_errors{namespace="{{ $ns }}"} > 0
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheConfigRefused") }}
          summary: {{ print "Node {{ $labels.node }} cannot use the requested config, and continues with the last valid one." | quote }}
          description: {{ print "The log of pod {{ $labels.pod }} names each error." | quote }}
      - alert: TrancheNodeNotReporting
        expr: max by (namespace, node, pod) (tranche_node_stream_connected{namespace="{{ $ns }}"}) == 0
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheNodeNotReporting") }}
          summary: {{ print "Node {{ $labels.node }} reports to no extender." | quote }}
          description: {{ print "It gets no new GPU pods. The log of pod {{ $labels.pod }} says why the stream does not open." | quote }}
      - alert: TrancheReadBackStale
        expr: tranche_node_read_back_age_seconds{namespace="{{ $ns }}"} > 300
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheReadBackStale") }}
          summary: {{ print "The kubelet of node {{ $labels.node }} has not reported for minutes which pods hold which GPUs." | quote }}
          description: Its PodResources socket does not answer; kubeletRoot may be wrong on this node.
      - alert: TrancheOveruse
        expr: tranche_container_gpu_overuse{namespace="{{ $ns }}"} == 1
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheOveruse") }}
          summary: {{ print "Container {{ $labels.exported_container }} of pod {{ $labels.exported_namespace }}/{{ $labels.exported_pod }} uses more GPU memory than granted." | quote }}
          description: tranche_container_gpu_memory_used_bytes shows how much. Raise its share, or set nodePlugin.overuse to cordon-gpu.
      {{- if include "tranche.mps" . }}
      - alert: TrancheMpsDaemonMissing
        expr: tranche_node_mps_daemon_missing{namespace="{{ $ns }}"} == 1
        for: 5m
        labels: {severity: warning}
        annotations:
          runbook_url: {{ include "tranche.runbook" (dict "root" $ "alert" "TrancheMpsDaemonMissing") }}
          summary: {{ print "Node {{ $labels.node }} shares by MPS, but no MPS control daemon serves." | quote }}
          description: The daemon's pods run on nodes with the label nvidia.com/mps.capable=true or tranche.dev/mps-capable=true; their log says what failed.
      {{- end }}
{{- end }}
{{- end -}}


{{/* The runbook page of an alert. */}}
{{- define "tranche.runbook" -}}
{{ .root.Values.monitoring.runbookUrl }}#{{ .alert | lower }}
{{- end -}}
