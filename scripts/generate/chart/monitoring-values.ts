import { alerts } from '../monitoring/alerts.ts';
import { type ChartValues, group, schemas, value } from './value-tree.ts';

const RENDER_MODE =
  'When the cluster does not serve the kind: `skipIfMissing` (also with a plain `helm template`), `failIfMissing`, or `alwaysRender`.';

const monitor = (doc: string) =>
  group(doc, {
    enabled: value('', false, schemas.flag),
    renderMode: value(RENDER_MODE, 'skipIfMissing', schemas.renderMode),
    interval: value("Prometheus' default when empty.", '', {
      type: 'string',
      pattern: '^([0-9]+(ms|s|m|h))*$',
    }),
    scrapeTimeout: value("Prometheus' default when empty.", '', {
      type: 'string',
      pattern: '^([0-9]+(ms|s|m|h))*$',
    }),
    labels: value('Labels by which your Prometheus selects it.', {}, schemas.stringMap),
    annotations: value('', {}, schemas.stringMap),
    relabelings: value('', [], schemas.objects),
    metricRelabelings: value('', [], schemas.objects),
  });

/** Metrics, alerts, dashboards and the test. */
export const monitoringValues: ChartValues = {
  metrics: group('What Prometheus reads.', {
    port: value('', 8080, schemas.port),
    authentication: group(
      'Show metrics only to callers with a bearer token of a user who may get the non-resource URL `/metrics`: bind the ServiceAccount of your Prometheus to the ClusterRole `<fullname>-metrics-reader`.',
      {
        enabled: value('', false, schemas.flag),
        tokenSecret: group(
          "A Secret of the release namespace with the token that the monitors send. When empty the ServiceMonitor sends the token of Prometheus' own ServiceAccount, and a PodMonitor is refused.",
          {
            name: value('', '', schemas.text),
            key: value('', 'token', { type: 'string', minLength: 1 }),
          },
        ),
      },
    ),
    service: group('', {
      enabled: value('', true, schemas.flag),
      annotations: value('', {}, schemas.stringMap),
    }),
    serviceMonitor: monitor('For the Prometheus operator; needs `metrics.service.enabled`.'),
    podMonitor: monitor('For the Prometheus operator, without the Service.'),
  }),
  prometheusRule: group('Alerts and recording rules.', {
    enabled: value('', false, schemas.flag),
    renderMode: value(RENDER_MODE, 'skipIfMissing', schemas.renderMode),
    labels: value('Labels by which your Prometheus selects it.', {}, schemas.stringMap),
    alertLabels: value('More labels of every alert, for routing.', {}, schemas.stringMap),
    disabled: value(
      'Alerts to leave out, by name: `GpuRentalNoLeader: true`.',
      {},
      {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(alerts.map(({ alert }) => [alert, schemas.flag])),
      },
    ),
    runbookUrl: value(
      "Where an alert's page is; the alert's name in lower case and `.md` are added.",
      'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/runbooks',
      { type: 'string', pattern: '^https?://' },
    ),
  }),
  dashboards: group("Grafana dashboards as ConfigMaps, for Grafana's sidecar.", {
    enabled: value('', false, schemas.flag),
    namespace: value("The release's when empty.", '', schemas.text),
    labels: value('', { grafana_dashboard: '1' }, schemas.stringMap),
    annotations: value('', { grafana_folder: 'GPU rental' }, schemas.stringMap),
  }),
  test: group('`helm test`: rights, the schema, the Lease and the marketplace, asked from inside.', {
    enabled: value('', true, schemas.flag),
    apiKeySecret: group('A Secret of the release namespace; without one the marketplace is not asked.', {
      name: value('', '', schemas.text),
      key: value('', 'api-key', { type: 'string', minLength: 1 }),
    }),
  }),
};
