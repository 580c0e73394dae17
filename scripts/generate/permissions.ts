import {
  clusterGrants,
  GATEWAY_REPORTER,
  type Grant,
  LOG_READER,
  METRICS_READER,
  metricsGrants,
  ownGrants,
  pickerGrants,
  relayGrants,
  watchedGrants,
} from '../../src/api/access.ts';
import { labels as labelNames } from '../../src/api/v1alpha1/names.ts';
import type { Artifact } from './artifact.ts';
import { GENERATED, indented, yaml, yamlDocuments } from './yaml.ts';

const NAME = 'gpu-rental-operator';
const NAMESPACE = 'gpu-rental-system';
/** ServiceAccount, Role and RoleBinding of Pods with `gpu-rent job`. */
const RELAY = 'gpu-rent-job';
const { operatorNamespace } = labelNames;

const rule = ({ group, resources, verbs, names }: Grant) => ({
  apiGroups: [group],
  resources,
  ...(names && { resourceNames: names }),
  verbs,
});

const labels = { 'app.kubernetes.io/name': NAME, [operatorNamespace]: NAMESPACE };
const subject = { kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE };
const rbac = 'rbac.authorization.k8s.io';

function binding(kind: 'ClusterRole' | 'Role') {
  return {
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: { name: NAME, ...(kind === 'Role' && { namespace: NAMESPACE }), labels },
    roleRef: { apiGroup: rbac, kind, name: NAME },
    subjects: [subject],
  };
}

function role(kind: 'ClusterRole' | 'Role', grants: readonly Grant[]) {
  return {
    apiVersion: `${rbac}/v1`,
    kind,
    metadata: { name: NAME, ...(kind === 'Role' && { namespace: NAMESPACE }), labels },
    rules: grants.map(rule),
  };
}

/** Returns a named template with rules, which the chart puts into Roles or ClusterRoles by its values. */
function template(name: string, grants: readonly Grant[]): string {
  const rules = grants.map((grant) => `# ${grant.why}\n${yaml([rule(grant)])}`).join('');
  return `{{- define "gpu-rental-operator.rules.${name}" -}}\n${rules}{{- end }}\n`;
}

function table(title: string, grants: readonly Grant[]): string {
  const rows = grants.map(({ group, resources, verbs, names, why }) => {
    const target = resources.map((resource) => `\`${group ? `${group}/` : ''}${resource}\``).join(', ');
    return `| ${target}${names ? ` (${names.join(', ')})` : ''} | ${verbs.join(', ')} | ${why} |`;
  });
  return [`## ${title}`, '', '| Resource | Verbs | Why |', '|---|---|---|', ...rows, ''].join('\n');
}

const page = `# What the operator may do in Kubernetes

Generated from \`src/api/access.ts\`; the chart and \`deploy/\` grant exactly this.

${table('In every watched namespace', watchedGrants)}
With the chart's \`watchNamespaces\` these become one Role in each of them.

${table('In the whole cluster', clusterGrants)}
Without it (namespaced mode) \`allowedNamespaces.from: All\` and \`Selector\` say \`NotPermitted\`.

${table("In the operator's own namespace", ownGrants)}
${table('In the whole cluster, to authenticate readers of metrics and logs, and pickers', metricsGrants)}
Granted with the chart's \`metrics.authentication.enabled\`, \`gatewayReports.enabled\` or \`logs.enabled\`, \`deploy/components/metrics-authentication\`, \`deploy/components/gateway-reports\` or \`deploy/components/logs\` only, in namespaced mode too. Readers need \`get\` on the non-resource URL \`/metrics\`: the ClusterRole \`gpu-rental-operator-metrics-reader\`. Pickers of a gateway need \`post\` on \`/gateway/reports\`: the ClusterRole \`gpu-rental-operator-gateway-reporter\`. Readers of logs need \`get\` on \`gpuinstances/log\` in the namespace of the object: bind the ClusterRole \`gpu-rental-operator-log-reader\` there.

${table('Of a picker of the gateway, in every namespace that it serves', pickerGrants)}
Beside them \`get\` on the Secrets that it reads, by name: those of \`spec.gateway.keys\`, and \`NAME-gateway-client\` of groups with \`link: TLS\`. Granted to a ServiceAccount of its own with the chart's \`gateway.enabled\` or \`deploy/components/gateway\`.

${table('Of a Pod with gpu-rent job, in its own namespace', relayGrants)}
Granted to the ServiceAccount \`gpu-rent-job\` with the chart's \`jobRelay.namespaces\` or \`deploy/components/job-relay\` only. Every user who can create Pods there can rent machines: add a SpendBudget.
`;

/** Returns the RBAC objects of `deploy/`, for the whole cluster. */
export function permissionObjects(): readonly unknown[] {
  const cluster = [...watchedGrants, ...clusterGrants];
  return [role('ClusterRole', cluster), binding('ClusterRole'), role('Role', ownGrants), binding('Role')];
}

/**
 * Returns the permission to review tokens, under the first name, and the needs of their owners, under the second.
 * Without the label of the operator's namespace: disabling the option is no uninstall, which the guard would refuse.
 */
function reviewObjects(reviewer: string, caller: string, needs: object): readonly unknown[] {
  const plain = { 'app.kubernetes.io/name': NAME };
  const clusterRole = (name: string, rules: readonly unknown[]) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels: plain },
    rules,
  });
  const reviews = `${NAME}-${reviewer}`;
  return [
    clusterRole(reviews, metricsGrants.map(rule)),
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: reviews, labels: plain },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: reviews },
      subjects: [subject],
    },
    clusterRole(`${NAME}-${caller}`, [needs]),
  ];
}

/** Returns the permissions of a picker in `deploy/`; users of groups add the Secrets that it may read. */
function pickerObjects(): readonly unknown[] {
  const name = `${NAME}-gateway`;
  const plain = { 'app.kubernetes.io/name': name };
  const account = { kind: 'ServiceAccount', name, namespace: NAMESPACE };
  const bound = (suffix: string, roleName: string) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}${suffix}`, labels: plain },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: roleName },
    subjects: [account],
  });
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: NAMESPACE, labels: plain },
      automountServiceAccountToken: false,
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name, labels: plain },
      rules: pickerGrants.map(rule),
    },
    bound('', name),
    bound('-reports', `${NAME}-gateway-reporter`),
  ];
}

/** Returns the permissions of Pods with `gpu-rent job`, without a namespace: the kustomization of the Jobs sets it. */
function relayObjects(): readonly unknown[] {
  const metadata = { name: RELAY, labels: { 'app.kubernetes.io/name': RELAY } };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: relayGrants.map(rule) },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: RELAY },
      subjects: [{ kind: 'ServiceAccount', name: RELAY }],
    },
  ];
}

/** Returns RBAC of the kustomize base, the rules of the chart, and the page that explains both. */
export function permissionArtifacts(): readonly Artifact[] {
  return [
    {
      path: 'deploy/base/rbac.yaml',
      content: yamlDocuments(permissionObjects()),
    },
    {
      path: 'charts/gpu-rental-operator/templates/_rules.tpl',
      content: `{{/*\n${indented(GENERATED, 0)}*/}}\n${[
        template('watched', watchedGrants),
        template('cluster', clusterGrants),
        template('own', ownGrants),
        template('metrics', metricsGrants),
        template('picker', pickerGrants),
        template('relay', relayGrants),
      ].join('')}`,
    },
    {
      path: 'deploy/components/metrics-authentication/rbac.yaml',
      content: yamlDocuments(reviewObjects('metrics-auth', 'metrics-reader', METRICS_READER)),
    },
    {
      path: 'deploy/components/gateway-reports/rbac.yaml',
      content: yamlDocuments(reviewObjects('gateway-auth', 'gateway-reporter', GATEWAY_REPORTER)),
    },
    {
      path: 'deploy/components/logs/rbac.yaml',
      content: yamlDocuments(reviewObjects('log-auth', 'log-reader', LOG_READER)),
    },
    { path: 'deploy/components/gateway/rbac.yaml', content: yamlDocuments(pickerObjects()) },
    { path: 'deploy/components/job-relay/rbac.yaml', content: yamlDocuments(relayObjects()) },
    { path: 'docs/reference/permissions.md', content: page },
  ];
}
