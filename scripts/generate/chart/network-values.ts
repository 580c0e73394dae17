import { type ChartValues, group, schemas, value } from './value-tree.ts';

const cidrs = { type: 'array', items: { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' } } as const;
const ports = { type: 'array', minItems: 1, items: schemas.port } as const;

/** Values of network access to and from the operator. */
export const networkValues: ChartValues = {
  workerReports: group(
    'Where rented workers report their load by themselves: EndpointGroups with `load.type: Push` need it. Rented machines are outside the cluster, so open a way in: a Service of type LoadBalancer, or the Ingress, with TLS.',
    {
      enabled: value('', false, schemas.flag),
      port: value('Of the container.', 8082, schemas.port),
      service: group('', {
        type: value('', 'ClusterIP', { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] }),
        port: value('', 80, schemas.port),
        annotations: value('', {}, schemas.stringMap),
      }),
      ingress: group(
        'Leads the two paths of the worker protocol to the Service. A report carries the token of its worker, so let TLS end here.',
        {
          enabled: value('', false, schemas.flag),
          className: value("The cluster's default when empty.", '', schemas.text),
          host: value('Needed. Workers get it as `REPORT_ADDR`.', '', {
            type: 'string',
            pattern: '^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$',
          }),
          tlsSecretName: value(
            "A Secret with the certificate. When empty TLS is your controller's own matter.",
            '',
            schemas.text,
          ),
          annotations: value('', {}, schemas.stringMap),
        },
      ),
    },
  ),
  gatewayReports: group(
    'What `gpu-rent endpoint-picker` counts, taken at the port of the metrics: EndpointGroups with `load.type: Gateway` need it. On with `gateway.enabled`. Bind the ServiceAccount of a picker of yours to the ClusterRole `<fullname>-gateway-reporter`.',
    {
      enabled: value('', false, schemas.flag),
      url: value(
        'Where clients reach the gateway, shown in `status.gateway.url` of groups. When empty the Service of `gateway.enabled` inside the cluster, and without that nothing.',
        '',
        { type: 'string', pattern: '^(https?://[^?#@]+)?$' },
      ),
    },
  ),
  networkPolicy: group('Everything that is not named is refused.', {
    enabled: value('', false, schemas.flag),
    flavor: value(
      '`kubernetes`, or `cilium` with names instead of addresses for marketplaces and the API server as an entity.',
      'kubernetes',
      { type: 'string', enum: ['kubernetes', 'cilium'] },
    ),
    metricsFrom: value(
      'Peers that may read metrics, and pickers that report, as in `ingress.from`. Anyone when empty.',
      [],
      schemas.objects,
    ),
    workerReportsFrom: value(
      'Peers that may bring reports of workers, such as your Ingress controller. Anyone when empty.',
      [],
      schemas.objects,
    ),
    gatewayFrom: value(
      'Peers that may call the gateway; with `gateway.existingGateway` your Envoy, which alone should reach the picker. Anyone when empty.',
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
