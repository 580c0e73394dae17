{{- define "gpu-rental-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "gpu-rental-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "gpu-rental-operator.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "gpu-rental-operator.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-rental-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gpu-rental-operator.labels" -}}
{{ include "gpu-rental-operator.optionalLabels" . }}
gpurental.dev/operator-namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Labels of objects that may be deleted while machines are rented. The guard protects objects with the label of the operator's namespace. */}}
{{- define "gpu-rental-operator.optionalLabels" -}}
{{ include "gpu-rental-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "gpu-rental-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.image" -}}
{{- $registry := default .Values.image.registry (.Values.global).imageRegistry }}
{{- $repository := ternary .Values.image.repository (printf "%s/%s" $registry .Values.image.repository) (empty $registry) }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Names of pull Secrets; a parent chart may pass strings or objects. */}}
{{- define "gpu-rental-operator.imagePullSecrets" -}}
{{- $names := list }}
{{- range concat (default list (.Values.global).imagePullSecrets) .Values.imagePullSecrets }}
{{- if kindIs "map" . }}
{{- $names = append $names .name }}
{{- else }}
{{- $names = append $names . }}
{{- end }}
{{- end }}
{{- range uniq $names }}
- name: {{ . }}
{{- end }}
{{- end }}

{{/* Not empty if admission policies are rendered, which are cluster-scoped. */}}
{{- define "gpu-rental-operator.rendersPolicies" -}}
{{- $render := .Values.admissionPolicies.render }}
{{- if or (eq $render "always") (and (eq $render "auto") (empty .Values.watchNamespaces)) }}true{{ end }}
{{- end }}

{{/* Not empty if an object of the Prometheus operator is rendered. Arguments: context, settings, kind. */}}
{{- define "gpu-rental-operator.rendersMonitoring" -}}
{{- $served := .context.Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}
{{- if .settings.enabled }}
{{- if or $served (eq .settings.renderMode "alwaysRender") }}true
{{- else if eq .settings.renderMode "failIfMissing" }}
{{- fail (printf "%s was asked for, but this cluster does not serve monitoring.coreos.com/v1. Install the Prometheus operator, or set its renderMode to skipIfMissing or alwaysRender." .kind) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Enabled monitoring objects that are omitted because the cluster does not serve their kind; empty if there are none. */}}
{{- define "gpu-rental-operator.skippedMonitoring" -}}
{{- if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}
{{- $skipped := list }}
{{- range $kind, $settings := dict "ServiceMonitor" .Values.metrics.serviceMonitor "PodMonitor" .Values.metrics.podMonitor "PrometheusRule" .Values.prometheusRule }}
{{- if and $settings.enabled (eq $settings.renderMode "skipIfMissing") }}
{{- $skipped = append $skipped $kind }}
{{- end }}
{{- end }}
{{- join ", " $skipped }}
{{- end }}
{{- end }}

{{/* Endpoint of a ServiceMonitor or PodMonitor. */}}
{{- define "gpu-rental-operator.metricsEndpoint" -}}
- port: metrics
  path: /metrics
  # Series have the namespace of their object, not that of the operator.
  honorLabels: true
  {{- with .interval }}
  interval: {{ . }}
  {{- end }}
  {{- with .scrapeTimeout }}
  scrapeTimeout: {{ . }}
  {{- end }}
  {{- with .relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Token that a monitor sends. */}}
{{- define "gpu-rental-operator.metricsToken" -}}
authorization:
  type: Bearer
  credentials:
    {{- toYaml .Values.metrics.authentication.tokenSecret | nindent 4 }}
{{- end }}

{{/* Security context of every container: "restricted" in the Pod Security Standards. */}}
{{- define "gpu-rental-operator.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "gpu-rental-operator.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* Labels and annotations of a CRD; with "keep" Argo CD does not delete it either. */}}
{{- define "gpu-rental-operator.crdMetadata" -}}
labels:
  {{- include "gpu-rental-operator.labels" .context | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if .context.Values.crds.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{/* Subject of every role binding. */}}
{{- define "gpu-rental-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "gpu-rental-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Labels of the test's objects; must differ from the selectors of the Deployment and its Services. */}}
{{- define "gpu-rental-operator.testSelectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-rental-operator.name" . | trunc 58 }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gpu-rental-operator.testLabels" -}}
{{ include "gpu-rental-operator.testSelectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Fails if two listeners of the operator use the same port. */}}
{{- define "gpu-rental-operator.checkPorts" -}}
{{- $taken := dict }}
{{- $ports := list (list "metrics.port" .Values.metrics.port) (list "health.port" .Values.health.port) }}
{{- if .Values.workerReports.enabled }}
{{- $ports = append $ports (list "workerReports.port" .Values.workerReports.port) }}
{{- end }}
{{- if .Values.logs.enabled }}
{{- $ports = append $ports (list "logs.port" .Values.logs.port) }}
{{- end }}
{{- range $ports }}
{{- $name := first . }}
{{- $port := toString (last .) }}
{{- with get $taken $port }}
{{- fail (printf "%s and %s are both %s; give each a port of its own." . $name $port) }}
{{- end }}
{{- $_ := set $taken $port $name }}
{{- end }}
{{- end }}
