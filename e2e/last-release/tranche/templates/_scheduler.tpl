{{/* The part of a kube-scheduler's configuration that is about the extender, each line with its reason. */}}
{{- define "tranche.schedulerExtender" -}}
# Every node is evaluated: otherwise the search would stop early, before extenders run, and a pod could wait although a GPU fits it.
percentageOfNodesToScore: 100
extenders:
  - urlPrefix: {{ .url }}
    filterVerb: filter
    prioritizeVerb: prioritize
    bindVerb: bind
    # Victims are chosen again so that one GPU is freed: the scheduler's own choice counts a node's totals only.
    preemptVerb: preempt
    weight: 1
    # Node names only; with whole Node objects the scheduler would score empty ones.
    nodeCacheCapable: true
    # With true a failing extender would let the default binder bind without an assignment.
    ignorable: false
    httpTimeout: 10s
    # Only pods that request these are sent to the extender; without the list every pod of the cluster would depend on it.
    managedResources:
      {{- range $resource := include "tranche.resources" .root | fromJsonArray }}
      - name: {{ $resource }}
        ignoredByScheduler: false
      {{- end }}
  {{- if eq .root.Values.extender.policy "packed" }}
  # For every pod of this scheduler, so that pods without GPUs use the CPU that GPU pods need least.
  - urlPrefix: {{ .url }}
    prioritizeVerb: pack
    weight: 1
    nodeCacheCapable: true
    # It only scores, so scheduling continues without it.
    ignorable: true
    httpTimeout: 1s
  {{- end }}
{{- end -}}
