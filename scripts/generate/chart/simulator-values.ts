import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** A marketplace for trying everything out. */
export const simulatorValues: ChartValues = {
  simulator: group(
    'Simulated marketplace in the cluster, for trials without an account. While it is enabled, the operator uses no other marketplace, so nothing costs money. Its machines are lost when its Pod is replaced.',
    {
      enabled: value('', false, schemas.flag),
      apiKey: value(
        'API key for the Secret of a MarketplaceAccount. It grants access to the simulator only.',
        'simulated-account',
        {
          type: 'string',
          pattern: '^\\S+$',
        },
      ),
      tls: group('', {
        secretName: value(
          'Secret in the release namespace with `tls.crt`, `tls.key` and `ca.crt`, as cert-manager creates it for a Certificate with the DNS name `<fullname>-simulator.<namespace>.svc`. If empty, the chart generates a certificate for ten years and reuses it in upgrades. `helm template`, and therefore Argo CD and Flux, would generate a new one each time: name a Secret there.',
          '',
          schemas.text,
        ),
      }),
      controlPort: value(
        'Port of the control endpoints on the loopback address of the Pod. Use kubectl port-forward.',
        8089,
        schemas.port,
      ),
      extraArgs: value(
        'Additional flags of `gpu-rent simulator`. The default lets machines boot in seconds.',
        ['--boot-scale=0.02'],
        { type: 'array', items: { type: 'string', pattern: '^--[a-z]' } },
      ),
      resources: value(
        '',
        {
          requests: { cpu: '10m', memory: '96Mi', 'ephemeral-storage': '16Mi' },
          limits: { memory: '256Mi', 'ephemeral-storage': '128Mi' },
        },
        { type: 'object' },
      ),
    },
  ),
};
