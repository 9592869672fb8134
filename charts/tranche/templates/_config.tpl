{{/*
Refuses what the node plugin would refuse on every node after the upgrade, with the reason. The rules are the plugin's; a test holds both against each other.
*/}}
{{- define "tranche.validateConfig" -}}
{{- range $key, $text := .Values.config.map -}}
{{- $in := printf "config.map.%s" $key -}}
{{- $config := fromYaml $text -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "%s is not a config in NVIDIA's format, a YAML map that starts with \"version: v1\": %s." $in $config.Error) -}}
{{- end -}}
{{- if eq "ConfigMap" (toString $config.kind) -}}
{{- fail (printf "%s is a whole ConfigMap: write each key below its data, %s, to a file of its own, and give that by --set-file config.map.KEY=FILE. Or create the ConfigMap, and set config.name." $in (keys ($config.data | default dict) | sortAlpha | join ", ")) -}}
{{- end -}}
{{- include "tranche.knownKeys" (dict "at" $in "map" $config "keys" (list "version" "flags" "sharing" "resources" "imex")) -}}
{{- if not (has $config.version (list nil "" "v1")) -}}
{{- fail (printf "%s: version is %s; allowed: v1." $in (toJson $config.version)) -}}
{{- end -}}
{{- range $key := list "flags" "sharing" "resources" "imex" -}}
{{- include "tranche.mapOrAbsent" (dict "at" (printf "%s: %s" $in $key) "value" (index $config $key)) -}}
{{- end -}}
{{- include "tranche.validateFlags" (dict "in" $in "flags" ($config.flags | default dict) "imex" ($config.imex | default dict)) -}}
{{- $sharing := $config.sharing | default dict -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s: sharing" $in) "map" $sharing "keys" (list "timeSlicing" "mps")) -}}
{{- if and $sharing.mps (eq "mixed" (toString ($.Values.migStrategy | default ($config.flags | default dict).migStrategy))) -}}
{{- fail (printf "%s: migStrategy mixed cannot be combined with sharing.mps; set it to none or single." $in) -}}
{{- end -}}
{{- $resources := $config.resources | default dict -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s: resources" $in) "map" $resources "keys" (list "gpus" "mig")) -}}
{{- range $key := list "gpus" "mig" -}}
{{- $rules := index $resources $key -}}
{{- if not (or (kindIs "invalid" $rules) (kindIs "slice" $rules)) -}}
{{- fail (printf "%s: resources.%s is a list of {pattern, name}, not %s." $in $key (toJson $rules)) -}}
{{- end -}}
{{- range $i, $rule := $rules -}}
{{- $at := printf "%s: resources.%s[%d]" $in $key $i -}}
{{- include "tranche.knownKeys" (dict "at" $at "map" $rule "keys" (list "pattern" "name")) -}}
{{- if kindIs "invalid" $rule.pattern -}}
{{- fail (printf "%s lacks its pattern, such as \"Tesla T4\" or \"*\"." $at) -}}
{{- end -}}
{{- include "tranche.validateName" (dict "at" (printf "%s.name" $at) "name" $rule.name) -}}
{{- end -}}
{{- end -}}
{{- range $strategy, $least := dict "timeSlicing" 1 "mps" 2 -}}
{{- $section := index $sharing $strategy -}}
{{- if not (kindIs "invalid" $section) -}}
{{- include "tranche.validateSharing" (dict "at" (printf "%s: sharing.%s" $in $strategy) "section" $section "least" $least "compatible" $.Values.config.nvidiaCompatible "resources" ($config.resources | default dict)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tranche.validateFlags" -}}
{{- $at := printf "%s: flags" .in -}}
{{- include "tranche.knownKeys" (dict "at" $at "map" .flags "keys" (list "migStrategy" "failOnInitError" "mpsRoot" "nvidiaDriverRoot" "nvidiaDevRoot" "gdrcopyEnabled" "gdsEnabled" "mofedEnabled" "deviceDiscoveryStrategy" "useNodeFeatureAPI" "plugin" "gfd")) -}}
{{- range $key := list "plugin" "gfd" -}}
{{- include "tranche.mapOrAbsent" (dict "at" (printf "%s.%s" $at $key) "value" (index $.flags $key)) -}}
{{- end -}}
{{- $plugin := .flags.plugin | default dict -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s.plugin" $at) "map" $plugin "keys" (list "passDeviceSpecs" "deviceListStrategy" "deviceIDStrategy" "cdiAnnotationPrefix" "nvidiaCTKPath" "containerDriverRoot" "sharedDevicesAllocationPolicy")) -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s.gfd" $at) "map" (.flags.gfd | default dict) "keys" (list "oneshot" "noTimestamp" "sleepInterval" "outputFile" "machineTypeFile")) -}}
{{- include "tranche.knownKeys" (dict "at" (printf "%s: imex" .in) "map" .imex "keys" (list "channelIDs" "required")) -}}
{{- include "tranche.singleValues" (dict "at" $at "map" .flags "except" (list "plugin" "gfd" "useNodeFeatureAPI")) -}}
{{- include "tranche.singleValues" (dict "at" (printf "%s.plugin" $at) "map" $plugin "except" (list "deviceListStrategy")) -}}
{{- include "tranche.singleValues" (dict "at" (printf "%s: imex" .in) "map" .imex "except" (list "channelIDs")) -}}
{{- $allowed := dict "migStrategy" (list "none" "single" "mixed") "deviceDiscoveryStrategy" (list "auto" "nvml") -}}
{{- include "tranche.allowedValues" (dict "at" $at "map" .flags "allowed" $allowed) -}}
{{- $allowed := dict "deviceListStrategy" (list "envvar" "volume-mounts" "cdi-annotations" "cdi-cri") "deviceIDStrategy" (list "uuid" "index") "sharedDevicesAllocationPolicy" (list "distributed" "packed") -}}
{{- include "tranche.allowedValues" (dict "at" (printf "%s.plugin" $at) "map" $plugin "allowed" $allowed) -}}
{{- range $key := list "failOnInitError" "gdrcopyEnabled" "gdsEnabled" "mofedEnabled" -}}
{{- include "tranche.allowedValues" (dict "at" $at "map" $.flags "allowed" (dict $key (include "tranche.booleans" . | fromJsonArray))) -}}
{{- end -}}
{{- include "tranche.allowedValues" (dict "at" (printf "%s.plugin" $at) "map" $plugin "allowed" (dict "passDeviceSpecs" (include "tranche.booleans" . | fromJsonArray))) -}}
{{- include "tranche.allowedValues" (dict "at" (printf "%s: imex" .in) "map" .imex "allowed" (dict "required" (include "tranche.booleans" . | fromJsonArray) "channelIDs" (list "0"))) -}}
{{- end -}}

{{/* How NVIDIA's flags spell true and false. */}}
{{- define "tranche.booleans" -}}
{{- list "true" "false" "1" "0" "t" "f" "T" "F" "TRUE" "FALSE" "True" "False" | toJson -}}
{{- end -}}

{{/* Refuses a value that is not allowed for its key. Of a list, each item is one; a text has commas between them. */}}
{{- define "tranche.allowedValues" -}}
{{- range $key, $allowed := .allowed -}}
{{- $given := index $.map $key -}}
{{- if not (kindIs "invalid" $given) -}}
{{- $isList := has $key (list "deviceListStrategy" "channelIDs") -}}
{{- $items := list $given -}}
{{- if kindIs "slice" $given -}}
{{- $items = $given -}}
{{- else if $isList -}}
{{- $items = splitList "," (toString $given) -}}
{{- end -}}
{{- $found := false -}}
{{- range $item := $items -}}
{{- $value := toString $item | trim -}}
{{- if has $value $allowed -}}
{{- $found = true -}}
{{- else if not (and $isList (eq "" $value)) -}}
{{- fail (printf "%s.%s is %s; allowed: %s." $.at $key (toJson $item) (join ", " $allowed)) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $key "deviceListStrategy") (not $found) -}}
{{- fail (printf "%s.%s is empty; allowed: one or more of %s." $.at $key (join ", " $allowed)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses a map or a list where a single value belongs. */}}
{{- define "tranche.singleValues" -}}
{{- range $key, $value := .map -}}
{{- if and (or (kindIs "map" $value) (kindIs "slice" $value)) (not (has $key $.except)) -}}
{{- fail (printf "%s.%s is a single value, not %s." $.at $key (toJson $value)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tranche.mapOrAbsent" -}}
{{- if not (or (kindIs "invalid" .value) (kindIs "map" .value)) -}}
{{- fail (printf "%s must be a map, not %s." .at (toJson .value)) -}}
{{- end -}}
{{- end -}}

{{- define "tranche.validateSharing" -}}
{{- $least := .least -}}
{{- include "tranche.knownKeys" (dict "at" .at "map" .section "keys" (list "renameByDefault" "failRequestsGreaterThanOne" "resources")) -}}
{{- $root := . -}}
{{- range $key := list "renameByDefault" "failRequestsGreaterThanOne" -}}
{{- if not (or (kindIs "bool" (index $root.section $key)) (kindIs "invalid" (index $root.section $key))) -}}
{{- fail (printf "%s.%s is %s; allowed: true or false." $root.at $key (toJson (index $root.section $key))) -}}
{{- end -}}
{{- end -}}
{{- $shareable := list "nvidia.com/gpu" -}}
{{- range $rule := concat (.resources.gpus | default list) (.resources.mig | default list) -}}
{{- $shareable = append $shareable (include "tranche.resourceName" (toString $rule.name)) -}}
{{- end -}}
{{- $resources := .section.resources -}}
{{- if not (and (kindIs "slice" $resources) $resources) -}}
{{- fail (printf "%s.resources is empty or not a list; name at least one resource to share, such as [{name: nvidia.com/gpu, replicas: 10}]." .at) -}}
{{- end -}}
{{- $list := printf "%s.resources" .at -}}
{{- range $i, $entry := $resources -}}
{{- $at := printf "%s[%d]" $list $i -}}
{{- include "tranche.knownKeys" (dict "at" $at "map" $entry "keys" (list "name" "replicas" "rename" "devices")) -}}
{{- if not $entry.name -}}
{{- fail (printf "%s lacks its name, such as nvidia.com/gpu." $at) -}}
{{- end -}}
{{- $name := include "tranche.resourceName" (toString $entry.name) -}}
{{- if not (or (has $name $shareable) (hasPrefix "nvidia.com/mig-" $name)) -}}
{{- fail (printf "%s.name is %s; only %s and nvidia.com/mig-* can be shared." $at $entry.name (join ", " $shareable)) -}}
{{- end -}}
{{- include "tranche.validateName" (dict "at" (printf "%s.name" $at) "name" $entry.name) -}}
{{- if not (has $entry.rename (list nil "")) -}}
{{- include "tranche.validateName" (dict "at" (printf "%s.rename" $at) "name" $entry.rename) -}}
{{- end -}}
{{- include "tranche.validateDevices" (dict "at" $at "entry" $entry "compatible" $root.compatible) -}}
{{- $replicas := $entry.replicas -}}
{{- $number := or (kindIs "float64" $replicas) (kindIs "int64" $replicas) (kindIs "int" $replicas) -}}
{{- $fits := false -}}
{{- if $number -}}{{- $fits = and (ge (float64 $replicas) (float64 $least)) (le (float64 $replicas) 10000.0) (eq (floor $replicas) (float64 $replicas)) -}}{{- end -}}
{{- if not $fits -}}
{{- fail (printf "%s.replicas is %s; allowed: a whole number from %v to 10000%s." $at (toJson $replicas) $least (ternary ", without quotation marks" "" (kindIs "string" $replicas))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tranche.validateName" -}}
{{- $full := include "tranche.resourceName" (toString .name) -}}
{{- if or (not (kindIs "string" .name)) (gt (len $full) 63) (not (regexMatch "^nvidia[.]com/[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" $full)) -}}
{{- fail (printf "%s is %s; allowed: nvidia.com/ and lower-case letters, digits, dots and dashes, at most 63 characters." .at (toJson .name)) -}}
{{- end -}}
{{- end -}}

{{- define "tranche.validateDevices" -}}
{{- $devices := .entry.devices -}}
{{- $listed := kindIs "slice" $devices -}}
{{- $taken := or $listed (kindIs "invalid" $devices) (eq "all" (toString $devices)) -}}
{{- if $listed -}}
{{- range $device := $devices -}}
{{- if not (regexMatch "^([0-9]{1,4}(:[0-9]{1,4})?|(GPU|MIG)-[-0-9a-zA-Z/]+)$" (toString $device)) -}}{{- $taken = false -}}{{- end -}}
{{- end -}}
{{- else if or (kindIs "float64" $devices) (kindIs "int64" $devices) (kindIs "int" $devices) -}}
{{- $taken = and (gt (float64 $devices) 0.0) (le (float64 $devices) 2147483647.0) (eq (floor $devices) (float64 $devices)) -}}
{{- end -}}
{{- if and $listed (not $devices) (eq .compatible "extended") -}}
{{- fail (printf "%s.devices is an empty list; name a device, or leave it out." .at) -}}
{{- end -}}
{{- if not $taken -}}
{{- fail (printf "%s.devices is %s; allowed: \"all\", a count above 0, or a list of indexes (0), MIG indexes (\"0:1\") and uuids." .at (toJson $devices)) -}}
{{- end -}}
{{- end -}}

{{- define "tranche.knownKeys" -}}
{{- if not (kindIs "map" .map) -}}
{{- fail (printf "%s must be a map, not %v." .at .map) -}}
{{- end -}}
{{- range $key := keys .map | sortAlpha -}}
{{- if not (has $key $.keys) -}}
{{- $place := include "tranche.placeOfKey" $key -}}
{{- $hint := $place | empty | ternary "docs/node-plugin-config.md lists all keys." (printf "It belongs at %s." $place) -}}
{{- fail (printf "%s has the unknown key %q; allowed are %s. %s" $.at $key (join ", " $.keys) $hint) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where a misplaced key belongs, as the node plugin says it; empty if there is no such key. */}}
{{- define "tranche.placeOfKey" -}}
{{- $places := list "flags.migStrategy" "flags.failOnInitError" "flags.mpsRoot" "flags.nvidiaDriverRoot" "flags.nvidiaDevRoot" "flags.gdrcopyEnabled" "flags.gdsEnabled" "flags.mofedEnabled" "flags.deviceDiscoveryStrategy" "flags.useNodeFeatureAPI" -}}
{{- range $key := list "passDeviceSpecs" "deviceListStrategy" "deviceIDStrategy" "cdiAnnotationPrefix" "nvidiaCTKPath" "containerDriverRoot" "sharedDevicesAllocationPolicy" -}}
{{- $places = append $places (printf "flags.plugin.%s" $key) -}}
{{- end -}}
{{- range $key := list "oneshot" "noTimestamp" "sleepInterval" "outputFile" "machineTypeFile" -}}
{{- $places = append $places (printf "flags.gfd.%s" $key) -}}
{{- end -}}
{{- range $key := list "renameByDefault" "failRequestsGreaterThanOne" "resources[].name" "resources[].replicas" "resources[].rename" "resources[].devices" -}}
{{- $places = append $places (printf "sharing.timeSlicing.%s" $key) -}}
{{- end -}}
{{- $places = concat $places (list "imex.channelIDs" "imex.required" "resources.gpus[].pattern" "version" "flags" "flags.plugin" "flags.gfd" "imex" "sharing" "sharing.timeSlicing" "sharing.mps" "resources" "resources.gpus" "resources.mig") -}}
{{- $found := "" -}}
{{- range $place := $places -}}
{{- if and (not $found) (eq (lower $) (last (splitList "." $place) | lower)) -}}
{{- $found = $place -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}
