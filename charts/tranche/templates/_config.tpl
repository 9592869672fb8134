{{/*
Refuses what the node plugin would refuse on every node after the upgrade, with the reason. The plugin refuses everything that is refused here. It may refuse
more, since it also knows the flags.
*/}}
{{- define "tranche.validateConfig" -}}
{{- range $key, $text := .Values.config.map -}}
{{- $in := printf "config.map.%s" $key -}}
{{- $config := fromYaml $text -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "%s is not a config in NVIDIA's format, a YAML map that starts with \"version: v1\": %s." $in $config.Error) -}}
{{- end -}}
{{- include "tranche.knownKeys" (dict "at" $in "map" $config "keys" (list "version" "flags" "sharing" "resources" "imex")) -}}
{{- $version := $config.version -}}
{{- if and (not (kindIs "invalid" $version)) (ne (toString $version) "v1") -}}
{{- fail (printf "%s: version must be v1, not %v." $in $version) -}}
{{- end -}}
{{- $sharing := $config.sharing | default dict -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s: sharing" $in) "map" $sharing "keys" (list "timeSlicing" "mps")) -}}
{{- range $strategy, $least := dict "timeSlicing" 1 "mps" 2 -}}
{{- $section := index $sharing $strategy -}}
{{- if not (kindIs "invalid" $section) -}}
{{- include "tranche.validateSharing" (dict "at" (printf "%s: sharing.%s" $in $strategy) "section" $section "least" $least) -}}
{{- end -}}
{{- end -}}
{{- $resources := $config.resources | default dict -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s: resources" $in) "map" $resources "keys" (list "gpus" "mig")) -}}
{{- end -}}
{{- end -}}

{{- define "tranche.validateSharing" -}}
{{- $least := .least -}}
{{- include "tranche.knownKeys" (dict "at" .at "map" .section "keys" (list "renameByDefault" "failRequestsGreaterThanOne" "resources")) -}}
{{- $resources := .section.resources -}}
{{- if not (and (kindIs "slice" $resources) $resources) -}}
{{- fail (printf "%s.resources is empty or no list; name at least one resource to share, such as [{name: nvidia.com/gpu, replicas: 10}]." .at) -}}
{{- end -}}
{{- $list := printf "%s.resources" .at -}}
{{- range $i, $entry := $resources -}}
{{- $at := printf "%s[%d]" $list $i -}}
{{- include "tranche.knownKeys" (dict "at" $at "map" $entry "keys" (list "name" "replicas" "rename" "devices")) -}}
{{- if not $entry.name -}}
{{- fail (printf "%s lacks its name, such as nvidia.com/gpu." $at) -}}
{{- end -}}
{{- $replicas := $entry.replicas -}}
{{- $number := or (kindIs "float64" $replicas) (kindIs "int64" $replicas) (kindIs "int" $replicas) -}}
{{- $fits := false -}}
{{- if $number -}}{{- $fits = and (ge (float64 $replicas) (float64 $least)) (le (float64 $replicas) 10000.0) (eq (floor $replicas) (float64 $replicas)) -}}{{- end -}}
{{- if not $fits -}}
{{- fail (printf "%s.replicas must be a whole number from %v to 10000, not %s." $at $least (toJson $replicas)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tranche.knownKeys" -}}
{{- if not (kindIs "map" .map) -}}
{{- fail (printf "%s must be a map, not %v." .at .map) -}}
{{- end -}}
{{- range $key := keys .map | sortAlpha -}}
{{- if not (has $key $.keys) -}}
{{- fail (printf "%s has the unknown key %q; allowed are %s. docs/node-plugin-config.md lists all keys." $.at $key (join ", " $.keys)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
