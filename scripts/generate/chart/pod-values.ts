import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** Values of the Pod and its placement. Its security context is fixed: restricted. */
export const podValues: ChartValues = {
  health: group('Probes of the kubelet.', { port: value('', 8081, schemas.port) }),
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
  podDisruptionBudget: group('Rendered with more than one replica only.', {
    enabled: value('', true, schemas.flag),
    maxUnavailable: value('', 1, { type: ['integer', 'string'] }),
    unhealthyPodEvictionPolicy: value(
      'With `AlwaysAllow` a replica that is not ready holds no drain up.',
      'AlwaysAllow',
      { type: 'string', enum: ['AlwaysAllow', 'IfHealthyBudget'] },
    ),
  }),
  terminationGracePeriodSeconds: value(
    'Above `--shutdown-grace`, so that a rental that was begun is finished and saved.',
    35,
    { type: 'integer', minimum: 0 },
  ),
  hostUsers: value(
    "`false` runs the Pod in a user namespace of its own (Kubernetes ≥ 1.33 and a runtime that can). The cluster's default when null.",
    null,
    { type: ['boolean', 'null'] },
  ),
  priorityClassName: value(
    '`system-cluster-critical` keeps it running where a node is full; in other namespaces than kube-system some clusters need a quota for that class.',
    '',
    schemas.text,
  ),
  spread: value(
    'Of several replicas over nodes and zones: `soft` prefers it, `hard` demands it, `none` leaves it to you.',
    'soft',
    { type: 'string', enum: ['soft', 'hard', 'none'] },
  ),
  affinity: value('Instead of what `spread` gives.', {}, schemas.object),
  topologySpreadConstraints: value('Instead of what `spread` gives.', [], schemas.objects),
  nodeSelector: value('', { 'kubernetes.io/os': 'linux' }, schemas.stringMap),
  tolerations: value('', [], schemas.objects),
  commonLabels: value('On every object of the chart.', {}, schemas.stringMap),
  podLabels: value('', {}, schemas.stringMap),
  podAnnotations: value('', {}, schemas.stringMap),
  deploymentAnnotations: value('', {}, schemas.stringMap),
  nameOverride: value('', '', schemas.dnsLabelOrNone),
  fullnameOverride: value('', '', schemas.dnsLabelOrNone),
};
