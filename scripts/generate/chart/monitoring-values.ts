import { alerts } from '../monitoring/alerts.ts';
import { type ChartValues, group, schemas, value } from './value-tree.ts';

const RENDER_MODE =
  'If the cluster does not serve the kind: `skipIfMissing` omits the object, `failIfMissing` fails, `alwaysRender` creates it anyway. `helm template` without a cluster counts as not served.';

const monitor = (doc: string) =>
  group(doc, {
    enabled: value('', false, schemas.flag),
    renderMode: value(RENDER_MODE, 'skipIfMissing', schemas.renderMode),
    interval: value('Default of Prometheus if empty.', '', {
      type: 'string',
      pattern: '^([0-9]+(ms|s|m|h))*$',
    }),
    scrapeTimeout: value('Default of Prometheus if empty.', '', {
      type: 'string',
      pattern: '^([0-9]+(ms|s|m|h))*$',
    }),
    labels: value('Labels that your Prometheus selects.', {}, schemas.stringMap),
    annotations: value('', {}, schemas.stringMap),
    relabelings: value('', [], schemas.objects),
    metricRelabelings: value('', [], schemas.objects),
  });

/** Metrics, alerts, dashboards and the test. */
export const monitoringValues: ChartValues = {
  metrics: group('Prometheus metrics.', {
    port: value('', 8080, schemas.port),
    authentication: group(
      'Require a bearer token whose user may get the non-resource URL `/metrics`. Bind the ServiceAccount of your Prometheus to the ClusterRole `<fullname>-metrics-reader`.',
      {
        enabled: value('', false, schemas.flag),
        tokenSecret: group(
          'Secret in the release namespace with the token that the monitors send. If empty, the ServiceMonitor sends the token of the ServiceAccount of Prometheus; a PodMonitor requires the Secret.',
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
    serviceMonitor: monitor(
      'ServiceMonitor for the Prometheus operator. Requires `metrics.service.enabled`.',
    ),
    podMonitor: monitor('PodMonitor for the Prometheus operator. Works without the Service.'),
  }),
  prometheusRule: group('Alerts and recording rules.', {
    enabled: value('', false, schemas.flag),
    renderMode: value(RENDER_MODE, 'skipIfMissing', schemas.renderMode),
    labels: value('Labels that your Prometheus selects.', {}, schemas.stringMap),
    alertLabels: value('Additional labels of every alert, for routing.', {}, schemas.stringMap),
    disabled: value(
      'Alerts to omit, by name. Example: `GpuRentalNoLeader: true`.',
      {},
      {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(alerts.map(({ alert }) => [alert, schemas.flag])),
      },
    ),
    runbookUrl: value(
      'Base URL of the runbooks. The chart appends the alert name in lower case and `.md`.',
      'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/runbooks',
      { type: 'string', pattern: '^https?://' },
    ),
  }),
  dashboards: group('Grafana dashboards as ConfigMaps for the Grafana sidecar.', {
    enabled: value('', false, schemas.flag),
    namespace: value('Release namespace if empty.', '', schemas.text),
    labels: value('', { grafana_dashboard: '1' }, schemas.stringMap),
    annotations: value('', { grafana_folder: 'GPU rental' }, schemas.stringMap),
  }),
  test: group(
    '`helm test`: checks permissions, CRDs, the Lease and the marketplace from inside the cluster.',
    {
      enabled: value('', true, schemas.flag),
      apiKeySecret: group(
        'Secret in the release namespace with an API key. If empty, the test does not call the marketplace.',
        {
          name: value('', '', schemas.text),
          key: value('', 'api-key', { type: 'string', minLength: 1 }),
        },
      ),
    },
  ),
};
