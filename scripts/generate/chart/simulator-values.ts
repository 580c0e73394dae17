import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** A marketplace for trying everything out. */
export const simulatorValues: ChartValues = {
  simulator: group(
    'A simulated marketplace in the cluster, to try everything without an account. While it is enabled the operator knows no other marketplace, so nothing costs money. Its machines are gone when its Pod is replaced.',
    {
      enabled: value('', false, schemas.flag),
      apiKey: value('What accounts of it have in their Secret. It opens nothing else.', 'simulated-account', {
        type: 'string',
        pattern: '^\\S+$',
      }),
      tls: group('', {
        secretName: value(
          'A Secret of the release namespace with `tls.crt`, `tls.key` and `ca.crt`, as cert-manager makes it for a Certificate with the DNS name `<fullname>-simulator.<namespace>.svc`. When empty the chart generates a certificate for ten years, and finds it again at an upgrade. `helm template`, and so Argo CD and Flux, would generate another each time: name a Secret there.',
          '',
          schemas.text,
        ),
      }),
      controlPort: value(
        'Of the control endpoints, on the loopback address of the Pod: kubectl port-forward leads there.',
        8089,
        schemas.port,
      ),
      extraArgs: value(
        'More flags of `gpu-rent simulator`. Machines boot in seconds by this one.',
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
