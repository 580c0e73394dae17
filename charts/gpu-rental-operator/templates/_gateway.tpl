{{- define "gpu-rental-operator.gatewayName" -}}
{{- printf "%s-gateway" (include "gpu-rental-operator.fullname" . | trunc 47 | trimSuffix "-") }}
{{- end }}

{{/* Selector labels; must differ from those of the operator's Deployment. */}}
{{- define "gpu-rental-operator.gatewaySelectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-rental-operator.name" . | trunc 55 | trimSuffix "-" }}-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels without the operator's namespace, because a gateway may be deleted while machines are rented. */}}
{{- define "gpu-rental-operator.gatewayLabels" -}}
{{ include "gpu-rental-operator.gatewaySelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.gatewaySubjects" -}}
- kind: ServiceAccount
  name: {{ include "gpu-rental-operator.gatewayName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Number of Pods. An existing Envoy has one picker; otherwise the start and the end of a request would reach different pickers. */}}
{{- define "gpu-rental-operator.gatewayReplicas" -}}
{{- .Values.gateway.existingGateway | ternary (min 1 .Values.gateway.replicas) .Values.gateway.replicas }}
{{- end }}

{{- define "gpu-rental-operator.envoyImage" -}}
{{- $image := .Values.gateway.envoy.image }}
{{- $registry := default $image.registry (.Values.global).imageRegistry }}
{{- $repository := ternary $image.repository (printf "%s/%s" $registry $image.repository) (empty $registry) }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository $image.tag }}
{{- end }}
{{- end }}

{{/* Returns text, because Helm prints parsed numbers as floats. */}}
{{- define "gpu-rental-operator.envoyConfig" -}}
{{- $envoy := .Values.gateway.envoy }}
{{- $heap := printf "\"max_heap_size_bytes\": %d" (mul (int $envoy.maxHeapMiB) 1048576) }}
{{- $idle := printf "\"idle_timeout\": \"%ds\"" (int $envoy.idleTimeoutSeconds) }}
{{- $hops := printf "\"xff_num_trusted_hops\": %d" (int .Values.gateway.trustedHops) }}
{{- .Files.Get "files/envoy.json" | replace "\"max_heap_size_bytes\": 402653184" $heap | replace "\"idle_timeout\": \"300s\"" $idle | replace "\"xff_num_trusted_hops\": 0" $hops }}
{{- end }}

{{/* Not empty if the operator accepts reports of pickers. */}}
{{- define "gpu-rental-operator.takesGatewayReports" -}}
{{- if or .Values.gatewayReports.enabled .Values.gateway.enabled }}true{{ end }}
{{- end }}

{{/* Prefix of status.gateway.url; empty if it is not set. */}}
{{- define "gpu-rental-operator.gatewayUrl" -}}
{{- if .Values.gatewayReports.url }}
{{- .Values.gatewayReports.url }}
{{- else if and .Values.gateway.enabled (not .Values.gateway.existingGateway) }}
{{- $port := int .Values.gateway.service.port }}
{{- printf "http://%s.%s.svc%s" (include "gpu-rental-operator.gatewayName" .) .Release.Namespace (eq $port 80 | ternary "" (printf ":%d" $port)) }}
{{- end }}
{{- end }}

{{/* URL for reports of pickers, on the metrics port of the operator. */}}
{{- define "gpu-rental-operator.reportsUrl" -}}
{{- if not .Values.metrics.service.enabled }}
{{- fail "gateway.enabled needs metrics.service.enabled: pickers report to the operator through that Service." }}
{{- end }}
{{- printf "http://%s.%s.svc:%d" (include "gpu-rental-operator.metricsServiceName" .) .Release.Namespace (int .Values.metrics.port) }}
{{- end }}

{{- define "gpu-rental-operator.metricsServiceName" -}}
{{- include "gpu-rental-operator.fullname" . | trunc 55 | trimSuffix "-" }}-metrics
{{- end }}

{{/* Spread of several gateway Pods over nodes and zones. */}}
{{- define "gpu-rental-operator.gatewayPlacement" -}}
{{- if and (gt (int (include "gpu-rental-operator.gatewayReplicas" .)) 1) (ne .Values.spread "none") }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ eq $.Values.spread "hard" | ternary "DoNotSchedule" "ScheduleAnyway" }}
    # Compares Pods of one revision only; terminating Pods do not count.
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "gpu-rental-operator.gatewaySelectorLabels" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}
