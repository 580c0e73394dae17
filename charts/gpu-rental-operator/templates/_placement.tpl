{{/* Affinity and topology spread: from the values, else by "spread" for several replicas. */}}
{{- define "gpu-rental-operator.placement" -}}
{{- $several := and (gt (int .Values.replicas) 1) (ne .Values.spread "none") }}
{{- if .Values.affinity }}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- else if $several }}
affinity:
  podAntiAffinity:
    {{- if eq .Values.spread "hard" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "gpu-rental-operator.selectorLabels" . | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "gpu-rental-operator.selectorLabels" . | nindent 14 }}
    {{- end }}
{{- end }}
{{- if .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
{{- else if $several }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: {{ eq .Values.spread "hard" | ternary "DoNotSchedule" "ScheduleAnyway" }}
    labelSelector:
      matchLabels:
        {{- include "gpu-rental-operator.selectorLabels" . | nindent 8 }}
{{- end }}
{{- end }}
