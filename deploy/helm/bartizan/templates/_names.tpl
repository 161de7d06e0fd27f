{{- define "bartizan.webhook" -}}
{{- printf "%s-webhook" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "bartizan.selector" -}}
app.kubernetes.io/name: bartizan-webhook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bartizan.labels" -}}
{{ include "bartizan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "bartizan.controller" -}}
{{- printf "%s-controller" .Release.Name | trunc 57 | trimSuffix "-" -}}
{{- end -}}

{{- define "bartizan.controllerSelector" -}}
app.kubernetes.io/name: bartizan-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bartizan.controllerLabels" -}}
{{ include "bartizan.controllerSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
