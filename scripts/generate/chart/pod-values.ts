import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** Values of the Pod and its placement. Its security context is fixed: restricted. */
export const podValues: ChartValues = {
  health: group('Endpoints for the probes of the kubelet.', { port: value('', 8081, schemas.port) }),
  resources: value(
    '',
    {
      requests: { cpu: '50m', memory: '128Mi', 'ephemeral-storage': '16Mi' },
      limits: { memory: '256Mi', 'ephemeral-storage': '64Mi' },
    },
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        requests: { type: 'object' },
        limits: { type: 'object' },
        claims: { type: 'array' },
      },
    },
  ),
  podDisruptionBudget: group('Created only for more than one replica.', {
    enabled: value('', true, schemas.flag),
    maxUnavailable: value('', 1, { type: ['integer', 'string'] }),
    unhealthyPodEvictionPolicy: value(
      'With `AlwaysAllow`, replicas that are not ready do not block a node drain.',
      'AlwaysAllow',
      { type: 'string', enum: ['AlwaysAllow', 'IfHealthyBudget'] },
    ),
  }),
  terminationGracePeriodSeconds: value(
    'Must be longer than `--shutdown-grace`, so that a pending rental finishes and is recorded.',
    35,
    { type: 'integer', minimum: 0 },
  ),
  hostUsers: value(
    '`false` runs the Pod in its own user namespace (Kubernetes ≥ 1.33 and a runtime with support). Default of the cluster if null.',
    null,
    { type: ['boolean', 'null'] },
  ),
  priorityClassName: value(
    '`system-cluster-critical` keeps the operator running on a full node. Outside kube-system some clusters require a ResourceQuota for this class.',
    '',
    schemas.text,
  ),
  spread: value(
    'Spread of replicas over nodes and zones: `soft` prefers it, `hard` requires it, `none` omits it.',
    'soft',
    { type: 'string', enum: ['soft', 'hard', 'none'] },
  ),
  affinity: value('Replaces the rules of `spread`.', {}, schemas.object),
  topologySpreadConstraints: value('Replaces the rules of `spread`.', [], schemas.objects),
  nodeSelector: value('', { 'kubernetes.io/os': 'linux' }, schemas.stringMap),
  tolerations: value('', [], schemas.objects),
  commonLabels: value('Labels of every object of the chart.', {}, schemas.stringMap),
  podLabels: value('', {}, schemas.stringMap),
  podAnnotations: value('', {}, schemas.stringMap),
  deploymentAnnotations: value('', {}, schemas.stringMap),
  nameOverride: value('', '', schemas.dnsLabelOrNone),
  fullnameOverride: value('', '', schemas.dnsLabelOrNone),
};
