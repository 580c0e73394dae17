import { describe, expect, test } from 'vitest';
import { OPTIONS } from './config/options.ts';
import { mapAddress } from './config/values.ts';
import {
  ConfigError,
  flagName,
  parseConfig,
  parsePickerConfig,
  type RawOptions,
  variableName,
} from './config.ts';

function problemsOf(flags: RawOptions, environment: Record<string, string> = {}): readonly string[] {
  try {
    parseConfig(flags, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('the spend limits stop most mistakes when no flag sets them (L5)', () => {
  const { maxDollarsPerHour, maxLiveMachines, maxRentalsPerHour } = parseConfig({}, {});
  expect({ maxDollarsPerHour, maxLiveMachines, maxRentalsPerHour }).toEqual({
    maxDollarsPerHour: 250_000_000,
    maxLiveMachines: 250,
    maxRentalsPerHour: 600,
  });
});

test('without anything the defaults hold', () => {
  expect(parseConfig({}, {})).toMatchObject({
    namespace: 'gpu-rental-system',
    watchNamespace: [],
    marketplaceUrl: ['https://console.vast.ai'],
    lateCall: 120_000,
    listLag: 60_000,
    goneSpacing: 10_000,
    orphanAge: 60_000,
    minPollInterval: 5_000,
    leaderElect: true,
    metricsBindAddress: { type: 'on', host: '', port: 8080 },
    workerReportBindAddress: { type: 'off' },
    allowPrivateAddresses: false,
    scalingSpeed: 1,
    pacing: 'documented',
    addressMap: [],
    kubeconfig: undefined,
  });
});

test('a flag wins over its variable, which wins over the default', () => {
  expect(parseConfig({ lateCall: '1s' }, { GPU_RENTAL_LATE_CALL: '2s' }).lateCall).toBe(1_000);
  expect(parseConfig({}, { GPU_RENTAL_LATE_CALL: '2s' }).lateCall).toBe(2_000);
});

test('an empty variable is none', () => {
  expect(parseConfig({}, { GPU_RENTAL_LATE_CALL: '' }).lateCall).toBe(120_000);
});

test('a list in the environment is separated by commas', () => {
  expect(parseConfig({}, { GPU_RENTAL_WATCH_NAMESPACE: 'a,b' }).watchNamespace).toEqual(['a', 'b']);
});

test('a switch without a value is on', () => {
  expect(parseConfig({ allowPrivateAddresses: true }, {}).allowPrivateAddresses).toBe(true);
  expect(parseConfig({ leaderElect: 'false' }, {}).leaderElect).toBe(false);
});

test('every default is valid and every option has a name that people can type', () => {
  expect(problemsOf({})).toEqual([]);
  for (const name of Object.keys(OPTIONS)) {
    expect(flagName(name)).toMatch(/^--[a-z]+(-[a-z]+)*$/);
    expect(variableName(name)).toMatch(/^GPU_RENTAL_[A-Z]+(_[A-Z]+)*$/);
  }
});

describe('a wrong value names the flag, the variable and what to write', () => {
  test.each([
    [
      { lateCall: '5x' },
      '--late-call (GPU_RENTAL_LATE_CALL): "5x" is not valid: write a duration between 0ms and 1h, such as 30s or 1m30s',
    ],
    [
      { minPollInterval: '0s' },
      '--min-poll-interval (GPU_RENTAL_MIN_POLL_INTERVAL): "0s" is not valid: write a duration between 100ms and 1h, such as 30s or 1m30s',
    ],
    [
      { gpuInstanceWorkers: 'many' },
      '--gpu-instance-workers (GPU_RENTAL_GPU_INSTANCE_WORKERS): "many" is not valid: write a whole number from 1 to 1024',
    ],
    [
      { marketplaceUrl: ['http://market.example'] },
      '--marketplace-url (GPU_RENTAL_MARKETPLACE_URL): "http://market.example" is not valid: write an https address; plain http is for loopback only',
    ],
    [
      { marketplaceUrl: ['http://127.evil.example'] },
      '--marketplace-url (GPU_RENTAL_MARKETPLACE_URL): "http://127.evil.example" is not valid: write an https address; plain http is for loopback only',
    ],
    [
      { marketplaceUrl: ['http://localhost.evil.example'] },
      '--marketplace-url (GPU_RENTAL_MARKETPLACE_URL): "http://localhost.evil.example" is not valid: write an https address; plain http is for loopback only',
    ],
    [
      { marketplaceUrl: ['https://market.example/api'] },
      '--marketplace-url (GPU_RENTAL_MARKETPLACE_URL): "https://market.example/api" is not valid: write scheme, host and port only, without a path',
    ],
    [
      { marketplaceUrl: ['https://key@market.example'] },
      '--marketplace-url (GPU_RENTAL_MARKETPLACE_URL): "https://key@market.example" is not valid: leave user and password out: keys belong in a Secret',
    ],
    [
      { metricsBindAddress: '8080' },
      '--metrics-bind-address (GPU_RENTAL_METRICS_BIND_ADDRESS): "8080" is not valid: write host:port, :port for every address, or 0 for none',
    ],
    [
      { healthProbeBindAddress: ':99999' },
      '--health-probe-bind-address (GPU_RENTAL_HEALTH_PROBE_BIND_ADDRESS): ":99999" is not valid: write host:port, :port for every address, or 0 for none',
    ],
    [
      { namespace: 'My_Space' },
      '--namespace (GPU_RENTAL_NAMESPACE): "My_Space" is not valid: write the name of a namespace: lowercase letters, digits and -',
    ],
    [
      { addressMap: ['203.0.113.0=127.0.0.1'] },
      '--address-map (GPU_RENTAL_ADDRESS_MAP): "203.0.113.0=127.0.0.1" is not valid: write network/prefix=address, such as 203.0.113.0/24=127.0.0.1',
    ],
    [
      { logLevel: 'loud' },
      '--log-level (GPU_RENTAL_LOG_LEVEL): "loud" is not valid: write debug, info, warn or error',
    ],
    [
      { leaderElect: 'maybe' },
      '--leader-elect (GPU_RENTAL_LEADER_ELECT): "maybe" is not valid: write true or false',
    ],
    [
      { maxDollarsPerHour: '-5' },
      '--max-dollars-per-hour (GPU_RENTAL_MAX_DOLLARS_PER_HOUR): "-5" is not valid: write an amount in dollars such as 25 or 2.50',
    ],
  ] as const)('%o', (flags, problem) => {
    expect(problemsOf(flags)).toEqual([problem]);
  });

  test('all wrong values are reported at once', () => {
    expect(problemsOf({ lateCall: 'x', listLag: 'y' })).toHaveLength(2);
  });
});

/** A simulator beside a marketplace where machines cost money. */
const MIXED = ['http://127.0.0.1:1', 'https://console.vast.ai'];

test.each([
  'http://reports.example.com',
  'reports.example.com',
  'https://u@reports.example.com',
  'ftp://127.0.0.1',
])('refuses %s as an address at which machines show their tokens', (workerReportUrl) => {
  const [problem, ...others] = problemsOf({ workerReportUrl, workerReportBindAddress: ':8082' });
  expect(problem).toContain('--worker-report-url');
  expect(others).toEqual([]);
});

describe('values that contradict each other', () => {
  test.each([
    [
      { leaderElectRenewDeadline: '15s' },
      '--leader-elect-renew-deadline: write less than --leader-elect-lease-duration',
    ],
    [
      { leaderElectRetryPeriod: '10s' },
      '--leader-elect-retry-period: write less than --leader-elect-renew-deadline divided by 1.2',
    ],
    [
      { leaderElectRetryPeriod: '8334ms' },
      '--leader-elect-retry-period: write less than --leader-elect-renew-deadline divided by 1.2',
    ],
    [
      {
        leaderElectLeaseDuration: '4999ms',
        leaderElectRenewDeadline: '2s',
        leaderElectRetryPeriod: '1s',
      },
      '--leader-elect-lease-duration: write at least 4s more than --leader-elect-retry-period, since nothing is rented or destroyed just before a lease ends',
    ],
    [
      { addressMap: ['203.0.113.0/24=127.0.0.1'] },
      '--address-map: leave it out unless every --marketplace-url is on loopback (a simulator)',
    ],
    [
      { pacing: 'off' },
      '--pacing: off is refused unless every --marketplace-url is on loopback (a simulator)',
    ],
    [
      { scalingSpeed: '2' },
      '--scaling-speed: leave it at 1 unless every --marketplace-url is on loopback (a simulator)',
    ],
    [
      { marketplaceUrl: MIXED, addressMap: ['203.0.113.0/24=127.0.0.1'] },
      '--address-map: leave it out unless every --marketplace-url is on loopback (a simulator)',
    ],
    [
      { marketplaceUrl: MIXED, pacing: 'off' },
      '--pacing: off is refused unless every --marketplace-url is on loopback (a simulator)',
    ],
    [
      { marketplaceUrl: MIXED, scalingSpeed: '2' },
      '--scaling-speed: leave it at 1 unless every --marketplace-url is on loopback (a simulator)',
    ],
    [
      { gatewayReports: 'kubernetes', metricsBindAddress: '0' },
      '--gateway-reports: reports are received at --metrics-bind-address; write an address there, not 0',
    ],
    [
      { workerReportUrl: 'https://reports.example.com' },
      '--worker-report-url: write it together with --worker-report-bind-address',
    ],
    [
      { prometheusCa: '/ca.pem' },
      '--prometheus-ca: leave it out unless --prometheus-url is an https address',
    ],
    [
      { prometheusCa: '/ca.pem', prometheusUrl: 'http://prometheus:9090' },
      '--prometheus-ca: leave it out unless --prometheus-url is an https address',
    ],
  ] as const)('%o', (flags, problem) => {
    expect(problemsOf(flags)).toEqual([problem]);
  });

  test('a lease that leaves room for the shortest rental is taken', () => {
    const flags = {
      leaderElectLeaseDuration: '5s',
      leaderElectRenewDeadline: '2s',
      leaderElectRetryPeriod: '1s',
    };
    expect(problemsOf(flags)).toEqual([]);
  });

  test.for(['', 'on', 'parameter=', 'parameter=a b', 'parameter=query', 'parameter=a&b'])(
    'a tenancy of Prometheus is none of other words: "%s" (M5)',
    (prometheusTenancy) => {
      expect(problemsOf({ prometheusTenancy })).toHaveLength(1);
    },
  );

  test('an https Prometheus may have an authority of its own', () => {
    expect(problemsOf({ prometheusCa: '/ca.pem', prometheusUrl: 'https://prometheus:9090' })).toEqual([]);
  });

  test('with a simulator on loopback addresses may be mapped', () => {
    const flags = { marketplaceUrl: ['http://127.0.0.1:8088'], addressMap: ['203.0.113.0/24=127.0.0.1'] };
    expect(problemsOf(flags)).toEqual([]);
  });

  test('every way to name loopback is a simulator’s, and time may run faster there', () => {
    const marketplaceUrl = ['http://127.0.0.2:1', 'http://localhost:2', 'http://[::1]:3'];
    expect(problemsOf({ marketplaceUrl, scalingSpeed: '2', pacing: 'off' })).toEqual([]);
  });
});

describe('mapping addresses', () => {
  const mappings = [
    { network: '203.0.113.0', prefix: 24, target: '127.0.0.1' },
    { network: '2001:db8::', prefix: 32, target: '::1' },
  ];
  test.each([
    ['203.0.113.7', '127.0.0.1'],
    ['203.0.114.7', '203.0.114.7'],
    ['2001:db8::5', '::1'],
    ['host.example', 'host.example'],
  ])('%s is dialled at %s', (address, target) => {
    expect(mapAddress(mappings, address)).toBe(target);
  });
});

test('reads the settings of a picker by the same rules, and names what cannot be', () => {
  const config = parsePickerConfig({ listenAddress: ':80' }, { GPU_RENTAL_WATCH_NAMESPACE: 'a,b' });
  expect(config).toMatchObject({
    ...{ listenAddress: { host: '', port: 80 }, bindAddress: { host: '127.0.0.1', port: 9002 } },
    ...{ watchNamespace: ['a', 'b'], envoy: undefined, shutdownGrace: 600_000 },
  });
  for (const bindAddress of ['0', 'x'])
    expect(() => parsePickerConfig({ bindAddress }, {})).toThrow(
      `--bind-address (GPU_RENTAL_BIND_ADDRESS): "${bindAddress}" is not valid: write host:port, or :port for every address`,
    );
  expect(() => parsePickerConfig({ bindAddress: ':0', printEnvoyConfig: true }, {})).toThrow(
    '--bind-address: write a port',
  );
});

test('lets an Envoy on another machine call a picker by any address that has a host and a port', () => {
  const printEnvoyConfig = true;
  const pickerAddress = 'gateway.example.svc:9002';
  expect(parsePickerConfig({ pickerAddress, printEnvoyConfig, bindAddress: ':0' }, {})).toMatchObject({
    pickerAddress: { host: 'gateway.example.svc', port: 9002 },
  });
  expect(() => parsePickerConfig({ pickerAddress }, {})).toThrow('write it with --print-envoy-config');
  for (const vague of [':9002', 'gateway:0'])
    expect(() => parsePickerConfig({ pickerAddress: vague, printEnvoyConfig }, {})).toThrow(
      '--picker-address: write the host and the port',
    );
});

test('lets a picker of a pool have nothing of our own Envoy', () => {
  expect(parsePickerConfig({ group: 'default/llm', tlsDirectory: '/tls' }, {}).group).toBe('default/llm');
  expect(() => parsePickerConfig({ group: 'llm' }, {})).toThrow('write NAMESPACE/NAME of an EndpointGroup');
  const group = 'default/llm';
  for (const own of [{ envoy: 'envoy' }, { printEnvoyConfig: true }, { envoyAdminSocket: '/socket' }])
    expect(() => parsePickerConfig({ group, ...own }, {})).toThrow('--group: leave out --envoy');
  expect(() => parsePickerConfig({ group, watchNamespace: ['a'] }, {})).toThrow(
    '--watch-namespace: leave it out',
  );
  expect(() => parsePickerConfig({ tlsDirectory: '/tls' }, {})).toThrow('--tls-directory: our own Envoy');
});
