import { type ChartValues, group, schemas, value } from './value-tree.ts';

const cidrs = { type: 'array', items: { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' } } as const;
const ports = { type: 'array', minItems: 1, items: schemas.port } as const;

/** Who may talk to the operator and whom it may talk to. */
export const networkValues: ChartValues = {
  networkPolicy: group('Everything that is not named is refused.', {
    enabled: value('', false, schemas.flag),
    flavor: value(
      '`kubernetes`, or `cilium` with names instead of addresses for marketplaces and the API server as an entity.',
      'kubernetes',
      { type: 'string', enum: ['kubernetes', 'cilium'] },
    ),
    metricsFrom: value(
      'Peers that may read metrics, as in `ingress.from`. Anyone when empty.',
      [],
      schemas.objects,
    ),
    apiServer: group('The way to Kubernetes.', {
      cidrs: value('Any address when empty.', [], cidrs),
      ports: value('', [443, 6443], ports),
    }),
    marketplace: group('The way to marketplaces.', {
      ports: value('', [443], ports),
      fqdns: value('Names for cilium. The hosts of `marketplace.urls` when empty.', [], {
        type: 'array',
        items: { type: 'string' },
      }),
    }),
    machines: value(
      'Reach rented machines at any public address and port: readiness probes and load readers need it. Without it they fail.',
      true,
      schemas.flag,
    ),
    extraIngress: value('', [], schemas.objects),
    extraEgress: value('', [], schemas.objects),
  }),
};
