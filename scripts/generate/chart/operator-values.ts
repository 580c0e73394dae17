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
      'Leave them, and with them every object, in the cluster when the chart is uninstalled. Machines keep billing while their objects are gone, so set this to false only after all objects are deleted.',
      true,
      schemas.flag,
    ),
  }),
  replicas: value('They elect one that acts; more than one only shortens the pause when a node dies.', 1, {
    type: 'integer',
    minimum: 0,
    maximum: 10,
  }),
  image: group('The image of the operator.', {
    registry: value('Replaced by `global.imageRegistry` if that is set.', 'ghcr.io', schemas.text),
    repository: value('', 'gpu-rental-operator/gpu-rental-operator', { type: 'string', minLength: 1 }),
    tag: value("The chart's appVersion when empty.", '', schemas.text),
    digest: value('`sha256:…`; wins over the tag. Releases set it.', '', {
      type: 'string',
      pattern: '^(sha256:[0-9a-f]{64})?$',
    }),
    pullPolicy: value('', 'IfNotPresent', { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] }),
  }),
  imagePullSecrets: value('Secrets of the namespace with registry logins.', [], schemas.nameReferences),
  marketplace: group('Where machines are rented.', {
    urls: value(
      'Marketplaces that accounts may name, by https; the first is the default.',
      ['https://console.vast.ai'],
      {
        type: 'array',
        minItems: 1,
        items: { type: 'string', pattern: `^(https://[^/\\s?#@]+|http://${LOOPBACK}(:[0-9]{1,5})?)$` },
      },
    ),
    allowPrivateAddresses: value(
      'Allow marketplaces, and machines that they name, on private addresses.',
      false,
      schemas.flag,
    ),
  }),
  watchNamespaces: value(
    'Only these namespaces, with a Role in each instead of a ClusterRole. Every namespace when empty.',
    [],
    {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' },
    },
  ),
  logLevel: value('', 'info', { type: 'string', enum: ['debug', 'info', 'warn', 'error'] }),
  extraArgs: value(
    'More flags of the operator, such as `--late-call=120s`. See docs/reference/operator-flags.md.',
    [],
    { type: 'array', items: { type: 'string', pattern: '^--[a-z]' } },
  ),
  extraEnv: value('More environment variables of the container, as in a Pod.', [], {
    type: 'array',
    items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
  }),
  extraVolumes: value('More volumes of the Pod.', [], schemas.objects),
  extraVolumeMounts: value('More mounts of the container.', [], schemas.objects),
};
