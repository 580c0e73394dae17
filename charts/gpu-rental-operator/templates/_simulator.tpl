{{- define "gpu-rental-operator.simulatorName" -}}
{{- printf "%s-simulator" (include "gpu-rental-operator.fullname" . | trunc 49 | trimSuffix "-") }}
{{- end }}

{{/* Selector labels; must differ from those of the operator's Deployment. */}}
{{- define "gpu-rental-operator.simulatorSelectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-rental-operator.name" . | trunc 53 | trimSuffix "-" }}-simulator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels with the operator's namespace: the guard protects the simulator, because the operator needs it to destroy machines. */}}
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

{{/* Annotation that keeps what the operator needs to destroy machines if the guard refuses an uninstall. */}}
{{- define "gpu-rental-operator.simulatorKept" -}}
{{- if .Values.inUseGuard.enabled -}}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{- define "gpu-rental-operator.simulatorTlsSecret" -}}
{{- default (printf "%s-tls" (include "gpu-rental-operator.simulatorName" .)) .Values.simulator.tls.secretName }}
{{- end }}

{{/* Permitted marketplace URLs as a JSON list: only the simulated marketplace if it is enabled. */}}
{{- define "gpu-rental-operator.marketplaceUrls" -}}
{{- if .Values.simulator.enabled }}
{{- list (printf "https://%s.%s.svc" (include "gpu-rental-operator.simulatorName" .) .Release.Namespace) | toJson }}
{{- else }}
{{- .Values.marketplace.urls | toJson }}
{{- end }}
{{- end }}

{{/* Environment by which a container trusts the certificate of the simulated marketplace; empty without it. */}}
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

{{/* Volume mounts of the operator and of `helm test`. */}}
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

{{/* Certificate of the logs, for the operator alone: the Pod of `helm test` does not get its key. */}}
{{- define "gpu-rental-operator.operatorVolumeMounts" -}}
{{- if .Values.logs.enabled }}
- name: log-tls
  mountPath: /etc/gpu-rental/logs
  readOnly: true
{{- end }}
{{ include "gpu-rental-operator.volumeMounts" . }}
{{- end }}

{{- define "gpu-rental-operator.operatorVolumes" -}}
{{- if .Values.logs.enabled }}
- name: log-tls
  secret:
    secretName: {{ required "logs.tls.secretName is required: callers send their tokens to this port" .Values.logs.tls.secretName }}
{{- end }}
{{ include "gpu-rental-operator.volumes" . }}
{{- end }}
