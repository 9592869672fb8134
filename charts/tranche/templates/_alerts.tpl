{{/* Prometheus's rules. A part that is switched off has no alerts, since absent() would fire for ever. */}}
{{- define "tranche.alerts" -}}
{{- $name := include "tranche.name" . -}}
{{- $ns := .Release.Namespace -}}
groups:
{{- if .Values.webhook.enabled }}
  - name: {{ $name }}-webhook
    rules:
      - alert: TrancheWebhookDown
        expr: absent(tranche_webhook_nodes{namespace="{{ $ns }}"})
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: No webhook answers, so pods that ask for a share of a GPU cannot be created.
          description: Look at kubectl -n {{ $ns }} get pods -l app.kubernetes.io/component=webhook. Other pods are created as before.
      - alert: TrancheCertificateEndsSoon
        # The extender that leads is asked; one that led before remembers an earlier certificate.
        expr: |
          tranche_webhook_certificate_expiry_timestamp_seconds{namespace="{{ $ns }}"} - time() < 7 * 86400
            or max by (namespace, certificate) (tranche_extender_client_certificate_expiry_timestamp_seconds{namespace="{{ $ns }}"}) - time() < 7 * 86400
        for: 1h
        labels: {severity: warning}
        annotations:
          summary: {{ print "The certificate {{ $labels.certificate }} ends within a week and was not renewed." | quote }}
          description: The webhook's log says why; tranche_webhook_tls_failures_total counts the attempts. The certificate kube-scheduler is the copy that yours shows the extender; copy it anew from its Secret.
      - alert: TrancheCertificatesNotKept
        expr: increase(tranche_webhook_tls_failures_total{namespace="{{ $ns }}"}[30m]) > 5
        for: 30m
        labels: {severity: warning}
        annotations:
          summary: The webhook fails to keep the certificates of the webhook and of the extender.
          description: Its log says why. What is served now goes on until it ends.
      {{- if .Values.guard.enabled }}
      - alert: TrancheGuardFinding
        expr: sum by (finding, outcome) (increase(tranche_webhook_guard_findings_total{namespace="{{ $ns }}"}[15m])) > 0
        labels: {severity: info}
        annotations:
          summary: {{ print "Pods reached for GPUs that they were not given: {{ $labels.finding }}, {{ $labels.outcome }}." | quote }}
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
          summary: No extender answers, so pods that ask for a GPU wait.
          description: Look at kubectl -n {{ $ns }} get pods -l app.kubernetes.io/component=extender. Running pods are not disturbed.
      - alert: TrancheReportsStale
        expr: max by (node, uuid) (tranche_extender_gpu_measured{namespace="{{ $ns }}"}) == 0
        for: 10m
        labels: {severity: warning}
        annotations:
          summary: {{ print "GPU {{ $labels.uuid }} of node {{ $labels.node }} is placed by grants alone, since its load is unknown." | quote }}
          description: The node plugin there is down, or its stream to the extender is; its log says which.
      - alert: TrancheDrift
        expr: increase(tranche_extender_drift_total{namespace="{{ $ns }}"}[1h]) > 0
        labels: {severity: warning}
        annotations:
          summary: The kubelet gave a pod another GPU than the one assigned.
          description: The pod has its share, but not where load and room asked for it. The extender's log names pod and GPUs.
      - alert: TranchePodsWaitForAHole
        expr: max(tranche_pending_fragmented_pods{namespace="{{ $ns }}"}) > 0
        for: 30m
        labels: {severity: info}
        annotations:
          summary: Pods wait although replicas enough are free, for no GPU has them together.
          description: /inspect shows the holes; the policy packed makes fewer of them.
      - alert: TrancheVerbsShed
        expr: increase(tranche_extender_verbs_shed_total{namespace="{{ $ns }}"}[10m]) > 0
        labels: {severity: warning}
        annotations:
          summary: {{ print "The extender refuses requests ({{ $labels.verb }}) unread, because too many wait." | quote }}
          description: They are tried again by kube-scheduler. Give the extender more CPU if this lasts.
{{- end }}
{{- if .Values.nodePlugin.enabled }}
  - name: {{ $name }}-node-plugin
    rules:
      - alert: TrancheNodePluginNotRegistered
        expr: tranche_node_registered{namespace="{{ $ns }}"} == 0 and on (namespace, pod) tranche_node_replicas_advertised > 0
        for: 5m
        labels: {severity: critical}
        annotations:
          summary: {{ print "The kubelet of node {{ $labels.node }} does not know the node plugin {{ $labels.pod }}." | quote }}
          description: New GPU pods fail there. The plugin's log says what the kubelet answered.
      - alert: TrancheGpuUnhealthy
        expr: tranche_gpu_healthy{namespace="{{ $ns }}"} == 0
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: {{ print "GPU {{ $labels.gpu }} ({{ $labels.UUID }}) of node {{ $labels.node }} takes no new pods." | quote }}
          description: The node's events name the error. It comes back by itself, unless the error needs a reset.
      - alert: TrancheConfigRefused
        expr: tranche_node_config_errors{namespace="{{ $ns }}"} > 0
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: {{ print "Node {{ $labels.node }} cannot use the config that it was told to use, and goes on with the last good one." | quote }}
          description: {{ print "The log of pod {{ $labels.pod }} names each error." | quote }}
      - alert: TrancheNodeNotReporting
        expr: max by (namespace, node, pod) (tranche_node_stream_connected{namespace="{{ $ns }}"}) == 0
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: {{ print "Node {{ $labels.node }} reports to no extender." | quote }}
          description: {{ print "It goes on with best fit. The log of pod {{ $labels.pod }} says why the stream does not open." | quote }}
      - alert: TrancheReadBackOld
        expr: tranche_node_read_back_age_seconds{namespace="{{ $ns }}"} > 300
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: {{ print "The kubelet of node {{ $labels.node }} has not told for minutes who holds which GPU." | quote }}
          description: Its PodResources socket does not answer; kubeletRoot may be wrong on this node.
      - alert: TrancheOveruse
        expr: tranche_container_gpu_overuse{namespace="{{ $ns }}"} == 1
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: {{ print "Container {{ $labels.exported_container }} of pod {{ $labels.exported_namespace }}/{{ $labels.exported_pod }} uses more GPU memory than granted." | quote }}
          description: tranche_container_gpu_memory_used_bytes shows how much. Raise its share, or set nodePlugin.overuse to cordon-gpu.
      {{- if include "tranche.mps" . }}
      - alert: TrancheMpsDaemonMissing
        expr: tranche_node_mps_daemon_missing{namespace="{{ $ns }}"} == 1
        for: 5m
        labels: {severity: warning}
        annotations:
          summary: {{ print "Node {{ $labels.node }} shares by MPS, but no MPS control daemon serves." | quote }}
          description: The daemon's pods run on nodes with the label nvidia.com/mps.capable=true; their log says what failed.
      {{- end }}
{{- end }}
{{- end -}}
