{{- define "gpu-rental-operator.simulatorName" -}}
{{- printf "%s-simulator" (include "gpu-rental-operator.fullname" . | trunc 49 | trimSuffix "-") }}
{{- end }}

{{/* Never those by which the Deployment of the operator finds its Pods. */}}
{{- define "gpu-rental-operator.simulatorSelectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-rental-operator.name" . | trunc 53 | trimSuffix "-" }}-simulator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* With the operator's namespace: without its marketplace it could destroy nothing. */}}
{{- define "gpu-rental-operator.simulatorLabels" -}}
{{ include "gpu-rental-operator.simulatorSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
gpurental.dev/operator-namespace: {{ .Release.Namespace }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The guard refuses an uninstall while machines are rented; what the operator needs to destroy them stays then. */}}
{{- define "gpu-rental-operator.simulatorKept" -}}
{{- if .Values.inUseGuard.enabled -}}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.simulatorTlsSecret" -}}
{{- default (printf "%s-tls" (include "gpu-rental-operator.simulatorName" .)) .Values.simulator.tls.secretName }}
{{- end }}

{{/* What the operator may call, as a JSON list: the simulated marketplace alone where there is one. */}}
{{- define "gpu-rental-operator.marketplaceUrls" -}}
{{- if .Values.simulator.enabled }}
{{- list (printf "https://%s.%s.svc" (include "gpu-rental-operator.simulatorName" .) .Release.Namespace) | toJson }}
{{- else }}
{{- .Values.marketplace.urls | toJson }}
{{- end }}
{{- end }}

{{/* How a container trusts the simulated marketplace; nothing without one. */}}
{{- define "gpu-rental-operator.simulatorTrustEnv" -}}
{{- if .Values.simulator.enabled }}
{{- range .Values.extraEnv }}
{{- if eq .name "NODE_EXTRA_CA_CERTS" }}
{{- fail "simulator.enabled sets NODE_EXTRA_CA_CERTS: take it out of extraEnv. No other marketplace is called then." }}
{{- end }}
{{- end }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/gpu-rental/simulator/ca.crt
{{- end }}
{{- end }}

{{/* Mounts of the operator and of `helm test`. */}}
{{- define "gpu-rental-operator.volumeMounts" -}}
{{- if .Values.simulator.enabled }}
- name: simulator-authority
  mountPath: /etc/gpu-rental/simulator
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.volumes" -}}
{{- if .Values.simulator.enabled }}
- name: simulator-authority
  secret:
    secretName: {{ include "gpu-rental-operator.simulatorTlsSecret" . }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
