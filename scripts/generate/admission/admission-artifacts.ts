import { GUARD_NAME, guardBindingSpec, guardPolicy } from '../../../src/accounts/installation/in-use.ts';
import type { Artifact } from '../artifact.ts';
import { GENERATED, yaml, yamlDocuments } from '../yaml.ts';
import { bindingObject, type Installation, policyObject } from './admission-policy.ts';
import { type ObjectPolicy, objectPolicies } from './object-policies.ts';
import { operatorPolicies } from './operator-policies.ts';

const policies = [...objectPolicies, ...operatorPolicies];

/** Installation of `deploy/`. */
const DEPLOYED = {
  name: 'gpu-rental-operator',
  namespace: 'gpu-rental-system',
  operatorUser: 'system:serviceaccount:gpu-rental-system:gpu-rental-operator',
  gatewayUser: 'system:serviceaccount:gpu-rental-system:gpu-rental-operator-gateway',
  breakGlassGroup: 'gpurental.dev:break-glass',
  labels: { 'app.kubernetes.io/name': 'gpu-rental-operator' },
} satisfies Installation;

/** Marks that Helm's own expressions replace: they would not survive as YAML. */
const IN_CHART: Installation = {
  name: '@NAME@',
  namespace: '@HOME@',
  operatorUser: '@OPERATOR@',
  gatewayUser: '@GATEWAY@',
  breakGlassGroup: '@BREAK_GLASS@',
  labels: '@LABELS@',
};

const MARKS: Readonly<Record<string, string>> = {
  ' @LABELS@': '\n    {{- include "gpu-rental-operator.labels" $context | nindent 4 }}',
  '@NAME@': '{{ include "gpu-rental-operator.fullname" $context }}',
  '@OPERATOR@':
    'system:serviceaccount:{{ $context.Release.Namespace }}:{{ include "gpu-rental-operator.serviceAccountName" $context }}',
  '@GATEWAY@':
    'system:serviceaccount:{{ $context.Release.Namespace }}:{{ include "gpu-rental-operator.gatewayName" $context }}',
  '@BREAK_GLASS@': '{{ $breakGlass }}',
  '@HOME@': '{{ $context.Release.Namespace }}',
  '@NAMESPACE@': '{{ . }}',
};

function withMarks(object: unknown): string {
  const text = yaml(object, { wrap: false }).replaceAll(
    /"@(LABELS|NAME|OPERATOR|BREAK_GLASS|NAMESPACE)@([^"\n]*)"/g,
    '@$1@$2',
  );
  return Object.entries(MARKS).reduce((result, [mark, text]) => result.replaceAll(mark, text), text);
}

/** Only where policies were asked for although the operator does not watch the whole cluster. */
const WATCHED_ONLY = `  {{- with $context.Values.watchNamespaces }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: In
          values:
            {{- toYaml . | nindent 12 }}
  {{- end }}
`;

const bindingOf = ({ isWarning, binding }: Pick<ObjectPolicy, 'isWarning' | 'binding'>) => ({
  ...(isWarning && { validationActions: ['Warn'] }),
  ...binding,
});

function chartPolicies(): string {
  const documents = policies.map((policyOf) => {
    const { suffix, chartValue, spec, isEverywhere } = policyOf;
    const name = `${IN_CHART.name}-${suffix}`;
    const policy = withMarks(policyObject(name, IN_CHART.labels, spec(IN_CHART)));
    const binding = withMarks(bindingObject(name, IN_CHART.labels, bindingOf(policyOf)));
    return `{{- if .Values.admissionPolicies.${chartValue} }}\n---\n${policy}---\n${binding}${isEverywhere ? '' : WATCHED_ONLY}{{- end }}\n`;
  });
  return [
    GENERATED,
    '{{- if include "gpu-rental-operator.rendersPolicies" . }}\n',
    '{{- $context := . }}\n',
    '{{- $breakGlass := .Values.admissionPolicies.breakGlassGroup }}\n',
    ...documents,
    '{{- end }}\n',
  ].join('');
}

/** Returns the guard as a named template of (context, namespaces, breakGlass), which both charts include. */
function guardTemplate(): string {
  const labels = '@LABELS@';
  const policy = withMarks(policyObject(GUARD_NAME, labels, guardPolicy('@BREAK_GLASS@')));
  const name = `${GUARD_NAME}-@NAMESPACE@`;
  const bound = bindingObject(name, labels, guardBindingSpec('@NAMESPACE@'));
  const binding = withMarks({ ...bound, spec: { ...bound.spec, policyName: GUARD_NAME } });
  // Whatever crds.keep says: an uninstall that was refused would else take the guard, and the next one the rest.
  const kept = (text: string) =>
    text.replace(/^( {2}name: .*\n)/m, '$1  annotations:\n    helm.sh/resource-policy: keep\n');
  return [
    `{{/*\n${GENERATED}*/}}\n`,
    '{{- define "gpu-rental-operator.inUseGuard" -}}\n',
    '{{- $context := .context }}\n{{- $breakGlass := .breakGlass }}\n',
    kept(policy),
    '{{- range .namespaces }}\n---\n',
    kept(binding),
    '{{- end }}\n{{- end }}\n',
  ].join('');
}

/** Returns the policies and their bindings as `deploy/` installs them. */
export function deployedPolicies(): readonly object[] {
  return policies.flatMap((policyOf) => {
    const { suffix, spec } = policyOf;
    const name = `${DEPLOYED.name}-${suffix}`;
    return [
      policyObject(name, DEPLOYED.labels, spec(DEPLOYED)),
      bindingObject(name, DEPLOYED.labels, bindingOf(policyOf)),
    ];
  });
}

/** `kubectl delete -k … -l gpurental.dev/keep!=true` leaves it, as Helm's keep does. */
function deployedGuard(): string {
  const labels = { ...DEPLOYED.labels, 'gpurental.dev/keep': 'true' };
  const bound = bindingObject(GUARD_NAME, labels, guardBindingSpec('gpu-rental-system'));
  return yamlDocuments([policyObject(GUARD_NAME, labels, guardPolicy(DEPLOYED.breakGlassGroup)), bound]);
}

/** Returns the admission policies of both charts and of `deploy/`. */
export function admissionArtifacts(): readonly Artifact[] {
  return [
    { path: 'charts/gpu-rental-operator/templates/admission-policies.yaml', content: chartPolicies() },
    ...['gpu-rental-operator', 'gpu-rental-operator-crds'].map((chart) => ({
      path: `charts/${chart}/templates/_in-use-guard.tpl`,
      content: guardTemplate(),
    })),
    {
      path: 'deploy/components/admission-policies/policies.yaml',
      content: yamlDocuments(deployedPolicies()),
    },
    { path: 'deploy/components/in-use-guard/guard.yaml', content: deployedGuard() },
  ];
}
