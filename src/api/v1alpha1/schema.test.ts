import { describe, expect, test } from 'vitest';
import { endpointGroupSpec } from './endpoint-group-spec.ts';
import { gpuInstanceSpec } from './gpu-instance.ts';
import { marketplaceAccountSpec } from './marketplace-account.ts';
import { decimal, dollars, duration, percentage } from './schema.ts';

const field = { description: 'A field.' };

describe('a form', () => {
  test.each([
    [
      'dollars',
      dollars(field),
      ['0', '0.8', '12.345678', '999999999'],
      ['', '.5', '1.', '-1', '1e3', '0.1234567', '$1'],
    ],
    [
      'decimal',
      decimal(field),
      ['0', '2.5', '900', '999999999999.999999'],
      ['', '-1', '1,5', 'NaN', '1e30', '0.0000001', '1000000000000'],
    ],
    ['percentage', percentage(field), ['0%', '99.5%', '100%'], ['', '95', '101%', '100.5%', '-1%']],
    ['duration', duration(field), ['30s', '1h30m', '250ms', '1.5h'], ['', '30', '1d', '-5s', '5 m']],
  ])('%s takes what its rule takes, and nothing else', (_name, schema, good, bad) => {
    for (const text of good) expect(schema.safeParse(text).success, text).toBe(true);
    for (const text of bad) expect(schema.safeParse(text).success, text).toBe(false);
  });
});

describe('defaults', () => {
  test('of a GpuInstance', () => {
    expect(gpuInstanceSpec.parse({ offers: [{}], image: 'a/b:c' })).toEqual({
      accountRef: { name: 'default' },
      offers: [
        {
          gpuCount: 1,
          verified: true,
          pricing: 'OnDemand',
          allowUnknownPrice: false,
          order: [{ field: 'pricePerHour', direction: 'Asc' }],
        },
      ],
      image: 'a/b:c',
      disk: '10G',
      ssh: false,
      powerState: 'Running',
      paused: false,
      timeouts: { provisioning: '5m', loading: '20m', start: '2m' },
      replacement: {
        policy: 'Always',
        tolerance: { exitedSeen: 2, unknown: '60s', offline: '60s' },
        maxPerHour: 5,
      },
      onVanish: 'Recreate',
      onPriceAbove: 'Report',
      updateStrategy: { type: 'Replace' },
      deletionPolicy: 'Destroy',
      service: { enabled: true },
    });
  });

  test('of a MarketplaceAccount', () => {
    expect(marketplaceAccountSpec.parse({ apiKeySecretRef: { name: 'key' } })).toEqual({
      market: 'Vast',
      apiKeySecretRef: { name: 'key', key: 'api-key' },
      pollInterval: '10s',
      allowedNamespaces: { from: 'Same' },
      limits: {},
      orphanPolicy: 'Report',
      adoption: 'None',
      maxUnhealthy: '20%',
      maxUnhealthyHold: '30m',
    });
  });

  test("of an EndpointGroup, the marketplace's own (specification 4.9)", () => {
    const spec = endpointGroupSpec.parse({ template: { spec: { offers: [{}], image: 'a/b:c' } } });
    expect(spec).toMatchObject({
      minLoad: '0',
      minColdLoad: '0',
      targetUtilizationPercent: 90,
      coldMultiplier: '2.5',
      coldWorkers: 5,
      maxWorkers: 20,
      maxQueueTime: '30s',
      targetQueueTime: '10s',
      scaleToZero: 'Allow',
      wakeTimeout: '60s',
      load: {},
      updateStrategy: { type: 'RollingUpdate', maxUnavailable: 1 },
      pause: { scaleUp: false, scaleDown: false },
    });
    expect(spec.inactivityTimeout).toBeUndefined();
    expect(spec.endpointName).toBeUndefined();
    expect(spec.replicas).toBeUndefined();
    expect(spec.template.spec.service.enabled).toBe(false);
  });
});
