import { type ChartValues, group, schemas, value } from './value-tree.ts';

const cidrs = { type: 'array', items: { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' } } as const;
const ports = { type: 'array', minItems: 1, items: schemas.port } as const;

/** Values of network access to and from the operator. */
export const networkValues: ChartValues = {
  workerReports: group(
    'Server for load reports of rented workers, required by EndpointGroups with `load.type: Push`, and for leases with `by: Report`. Rented machines are outside the cluster, so expose it by a Service of type LoadBalancer or by the Ingress, with TLS.',
    {
      enabled: value('', false, schemas.flag),
      url: value(
        'https address of the server as rented machines reach it, such as https://reports.example.com, for leases with `by: Report`. Images of machines must trust its certificate. If empty, the host of the Ingress; without an Ingress, none.',
        '',
        { type: 'string', pattern: '^(https://[^ ]+)?$' },
      ),
      port: value('Container port.', 8082, schemas.port),
      service: group('', {
        type: value('', 'ClusterIP', { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] }),
        port: value('', 80, schemas.port),
        annotations: value('', {}, schemas.stringMap),
      }),
      ingress: group(
        'Ingress for the paths of the worker protocol and of leases. Reports contain the token of the worker, so terminate TLS here.',
        {
          enabled: value('', false, schemas.flag),
          className: value('Default of the cluster if empty.', '', schemas.text),
          host: value('Required. Workers receive it as `REPORT_ADDR`.', '', {
            type: 'string',
            pattern: '^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$',
          }),
          tlsSecretName: value(
            'Secret with the certificate. If empty, configure TLS in your Ingress controller.',
            '',
            schemas.text,
          ),
          annotations: value('', {}, schemas.stringMap),
        },
      ),
    },
  ),
  logs: group(
    'Logs of machines over HTTPS, for users and Pods without the marketplace key. A caller needs the right to get `gpuinstances/log` in the namespace: bind the ClusterRole `<fullname>-log-reader` there. Only the leader serves logs. See docs/how-to/logs.md.',
    {
      enabled: value('', false, schemas.flag),
      port: value('Container port.', 8083, schemas.port),
      tls: group('', {
        secretName: value(
          'Required. Secret in the release namespace with `tls.crt` and `tls.key` for the DNS name `<fullname>-logs.<namespace>.svc`, for example of cert-manager. The operator reads it again every minute.',
          '',
          schemas.text,
        ),
      }),
      service: group('', {
        port: value('', 443, schemas.port),
        annotations: value('', {}, schemas.stringMap),
      }),
    },
  ),
  gatewayReports: group(
    'Load reports of `gpu-rent endpoint-picker` on the metrics port, required by EndpointGroups with `load.type: Gateway`. Always enabled with `gateway.enabled`. For your own picker, bind its ServiceAccount to the ClusterRole `<fullname>-gateway-reporter`.',
    {
      enabled: value('', false, schemas.flag),
      url: value(
        'URL of the gateway for clients, shown in `status.gateway.url` of groups. If empty, the cluster-internal URL of the Service of `gateway.enabled`; without such a Service, none.',
        '',
        { type: 'string', pattern: '^(https?://[^?#@]+)?$' },
      ),
    },
  ),
  networkPolicy: group('Network policy of the Pods. Traffic that it does not list is denied.', {
    enabled: value('', false, schemas.flag),
    flavor: value(
      '`kubernetes`, or `cilium`, which permits marketplaces by host name and the API server as an entity.',
      'kubernetes',
      { type: 'string', enum: ['kubernetes', 'cilium'] },
    ),
    metricsFrom: value(
      'Peers that may read metrics or report gateway load, as in `ingress.from`. All peers if empty.',
      [],
      schemas.objects,
    ),
    workerReportsFrom: value(
      'Peers that may send worker reports, for example your Ingress controller. All peers if empty.',
      [],
      schemas.objects,
    ),
    logsFrom: value(
      'Peers that may read logs, for example namespaces with jobs. All peers if empty.',
      [],
      schemas.objects,
    ),
    gatewayFrom: value(
      'Peers that may call the gateway; with `gateway.existingGateway`, your Envoy. All peers if empty.',
      [],
      schemas.objects,
    ),
    apiServer: group('Egress to the API server.', {
      cidrs: value('Any address if empty.', [], cidrs),
      ports: value('', [443, 6443], ports),
    }),
    marketplace: group('Egress to marketplaces.', {
      ports: value('', [443], ports),
      fqdns: value('Host names for cilium. Hosts of `marketplace.urls` if empty.', [], {
        type: 'array',
        items: { type: 'string' },
      }),
    }),
    machines: value(
      'Reach rented machines at any public address and port: readiness probes, load readers and leases by SSH need it. Without it they fail, and a machine whose lease was renewed before ends itself.',
      true,
      schemas.flag,
    ),
    extraIngress: value('', [], schemas.objects),
    extraEgress: value('', [], schemas.objects),
  }),
};
