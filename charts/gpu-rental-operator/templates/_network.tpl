{{- define "gpu-rental-operator.publicAddresses" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
- ipBlock:
    cidr: ::/0
    except: ["::1/128", fc00::/7, fe80::/10]
{{- end }}

{{/* Egress of the operator and of `helm test`: DNS, the API server, marketplaces, and additional rules of the values. */}}
{{- define "gpu-rental-operator.baseEgress" -}}
{{- $settings := .Values.networkPolicy -}}
# DNS.
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
  to:
    - namespaceSelector: {}
# API server.
- ports:
    {{- range $settings.apiServer.ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with $settings.apiServer.cidrs }}
  to:
    {{- range . }}
    - ipBlock: { cidr: {{ . | quote }} }
    {{- end }}
  {{- end }}
{{- if .Values.simulator.enabled }}
# Simulated marketplace.
- ports:
    - { port: 8443, protocol: TCP }
  to:
    - podSelector:
        matchLabels:
          {{- include "gpu-rental-operator.simulatorSelectorLabels" . | nindent 10 }}
{{- else }}
# Marketplaces. Their addresses change, so the policy excludes only private networks.
- ports:
    {{- range $settings.marketplace.ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- if not .Values.marketplace.allowPrivateAddresses }}
  to:
    {{- include "gpu-rental-operator.publicAddresses" . | nindent 4 }}
  {{- end }}
{{- end }}
{{- if eq $settings.flavor "kubernetes" }}
{{- with $settings.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
