import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** Hosts for which the operator allows plain http (src/config/values.ts). */
const LOOPBACK = '(localhost|127(\\.[0-9]{1,3}){3}|\\[::1\\])';

/** Values of the operator itself: CRDs, image, marketplaces, flags. */
export const operatorValues: ChartValues = {
  global: value(
    'Values of a parent chart. `imageRegistry` replaces the registry of the image; `imagePullSecrets` are added.',
    {},
    { type: 'object' },
  ),
  crds: group('Custom resource definitions.', {
    enabled: value('Install and upgrade the CRDs with the chart.', true, schemas.flag),
    keep: value(
      'Keep the CRDs, and with them all objects, when the chart is uninstalled. Machines keep billing after their objects are removed with the CRDs, so set this to false only after you deleted all objects.',
      true,
      schemas.flag,
    ),
  }),
  replicas: value(
    'Number of operator Pods. Only the elected leader acts; more replicas shorten the pause after a node failure.',
    1,
    {
      type: 'integer',
      minimum: 0,
      maximum: 10,
    },
  ),
  image: group('Image of the operator.', {
    registry: value('Replaced by `global.imageRegistry` if that is set.', 'ghcr.io', schemas.text),
    repository: value('', 'gpu-rental-operator/gpu-rental-operator', { type: 'string', minLength: 1 }),
    tag: value('appVersion of the chart if empty.', '', schemas.text),
    digest: value('`sha256:…`. Takes precedence over the tag; set in releases.', '', {
      type: 'string',
      pattern: '^(sha256:[0-9a-f]{64})?$',
    }),
    pullPolicy: value('', 'IfNotPresent', { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] }),
  }),
  imagePullSecrets: value(
    'Secrets in the release namespace with registry credentials.',
    [],
    schemas.nameReferences,
  ),
  marketplace: group('Marketplaces.', {
    urls: value(
      'URLs that MarketplaceAccounts may use, https only. The first is the default.',
      ['https://console.vast.ai'],
      {
        type: 'array',
        minItems: 1,
        items: { type: 'string', pattern: `^(https://[^/\\s?#@]+|http://${LOOPBACK}(:[0-9]{1,5})?)$` },
      },
    ),
    allowPrivateAddresses: value(
      'Permit private addresses for marketplaces and for the machines that they report.',
      false,
      schemas.flag,
    ),
  }),
  watchNamespaces: value(
    'Namespaces to watch, with a Role in each instead of a ClusterRole. All namespaces if empty.',
    [],
    {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' },
    },
  ),
  logLevel: value('', 'info', { type: 'string', enum: ['debug', 'info', 'warn', 'error'] }),
  extraArgs: value(
    'Additional flags of the operator, for example `--late-call=120s`. See docs/reference/operator-flags.md.',
    [],
    { type: 'array', items: { type: 'string', pattern: '^--[a-z]' } },
  ),
  extraEnv: value('Additional environment variables of the container, as in a Pod.', [], {
    type: 'array',
    items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
  }),
  extraVolumes: value('Additional volumes of the Pod.', [], schemas.objects),
  extraVolumeMounts: value('Additional volume mounts of the container.', [], schemas.objects),
};
