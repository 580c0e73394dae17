import type { Refused } from './refused.ts';

const worker = { offers: [{ maxPricePerHour: '0.60' }], image: 'registry.example/team/worker:1' };
const base = { template: { spec: worker } };
const load = (source: object) => ({ ...base, load: source });
const template = (change: object) => ({ template: { spec: { ...worker, ...change } } });

const numbers: readonly Refused[] = [
  {
    given: 'a target above the maximum of queue time',
    spec: { ...base, targetQueueTime: '60s' },
    covers: 'write a targetQueueTime that is not above maxQueueTime',
    refusals: [
      'spec.targetQueueTime: Invalid value: targetQueueTime 60s is above maxQueueTime 30s: lower the one or raise the other',
    ],
  },
  {
    given: 'a queue time and a ceiling that are no figures, and refusals only that',
    spec: { ...base, targetQueueTime: 'soon', maxSpendPerHour: 'much' },
    refusals: [
      'spec.targetQueueTime: Invalid value: "soon": write a duration with units, such as 90s, 5m or 1h30m',
      'spec.maxSpendPerHour: Invalid value: "much": write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"',
    ],
  },
  {
    given: 'more cold workers than workers',
    spec: { ...base, coldWorkers: 30 },
    covers: 'write coldWorkers that are not above maxWorkers',
    refusals: [
      'spec.coldWorkers: Invalid value: coldWorkers 30 is above maxWorkers 20: lower the one or raise the other',
    ],
  },
  {
    given: 'more replicas than workers',
    spec: { ...base, maxWorkers: 5, replicas: 6 },
    covers: 'write replicas that are not above maxWorkers',
    refusals: [
      'spec.replicas: Invalid value: replicas 6 is above maxWorkers 5: lower the one or raise the other',
    ],
  },
  {
    given: 'an inactivity timeout that nothing follows',
    spec: { ...base, scaleToZero: 'Never', inactivityTimeout: '10m' },
    refusals: [
      'spec.inactivityTimeout: Forbidden: inactivityTimeout delays scaling to zero: leave it out with scaleToZero: Never',
    ],
  },
  {
    given: 'a ceiling below every price',
    spec: { ...base, maxSpendPerHour: '0.50' },
    refusals: [
      'spec.maxSpendPerHour: Invalid value: maxSpendPerHour is below the maxPricePerHour of every alternative of the template: no worker could ever be rented',
    ],
  },
  {
    given: 'a negative load',
    spec: { ...base, minLoad: '-1' },
    refusals: [
      'spec.minLoad: Invalid value: "-1": write a decimal in quotes that is not negative, with at most twelve digits before the point and six behind it, such as "2.5"',
    ],
  },
  {
    given: 'a multiplier with more digits than are kept',
    spec: { ...base, coldMultiplier: '2.5000001' },
    refusals: [
      'spec.coldMultiplier: Invalid value: "2.5000001": write a decimal in quotes that is not negative, with at most twelve digits before the point and six behind it, such as "2.5"',
    ],
  },
  {
    given: 'durations out of bounds',
    spec: {
      ...base,
      maxQueueTime: '48h',
      targetQueueTime: '10ms',
      inactivityTimeout: '0s',
      wakeTimeout: '2h',
      drainTimeout: '25h',
      notReadyTimeout: '25h',
    },
    refusals: [
      'spec.inactivityTimeout: Invalid value: "0s": write at least 1s',
      'spec.maxQueueTime: Invalid value: "48h": write at most 24h',
      'spec.targetQueueTime: Invalid value: "10ms": write at least 1s',
      'spec.wakeTimeout: Invalid value: "2h": write at most 1h',
      'spec.drainTimeout: Invalid value: "25h": write at most 24h',
      'spec.notReadyTimeout: Invalid value: "25h": write at most 24h',
    ],
  },
  {
    given: 'durations out of the other bounds',
    spec: {
      ...base,
      maxQueueTime: '10ms',
      targetQueueTime: '48h',
      wakeTimeout: '10ms',
      drainTimeout: '0s',
      notReadyTimeout: '59s',
    },
    refusals: [
      'spec.targetQueueTime: Invalid value: targetQueueTime 48h is above maxQueueTime 10ms: lower the one or raise the other',
      'spec.maxQueueTime: Invalid value: "10ms": write at least 1s',
      'spec.targetQueueTime: Invalid value: "48h": write at most 24h',
      'spec.wakeTimeout: Invalid value: "10ms": write at least 1s',
      'spec.drainTimeout: Invalid value: "0s": write at least 1s',
      'spec.notReadyTimeout: Invalid value: "59s": write at least 1m',
    ],
  },
  {
    given: 'a gateway that holds requests for half a second, and serves port 0',
    spec: { ...base, gateway: { hold: '500ms', port: 0 } },
    refusals: [
      'spec.gateway.hold: Invalid value: "500ms": write at least 1s',
      'spec.gateway.port: Invalid value: 0: write a port number between 1 and 65535, or the name of a port',
    ],
  },
  {
    given: 'a gateway that holds requests for longer than Envoy waits',
    spec: { ...base, gateway: { hold: '1h' } },
    refusals: ['spec.gateway.hold: Invalid value: "1h": write at most 55m'],
  },
  {
    given: 'a gateway whose preflights browsers may keep for longer than a day',
    spec: { ...base, gateway: { cors: { allowOrigins: ['*'], maxAge: '25h' } } },
    refusals: ['spec.gateway.cors.maxAge: Invalid value: "25h": write at most 24h'],
  },
  {
    given: 'a share of unavailable workers above the whole',
    spec: { ...base, updateStrategy: { maxUnavailable: '150%' } },
    refusals: [
      'spec.updateStrategy.maxUnavailable: Invalid value: "150%": write a count such as 3, or a share between 0% and 100% such as 20%',
    ],
  },
  {
    given: 'an endpoint that is no name of a Service',
    spec: { ...base, endpointName: '8b-model' },
    refusals: [
      'spec.endpointName: Invalid value: "8b-model": write the name of a Service: lower case letters, digits and "-", beginning with a letter',
    ],
  },
  {
    given: 'a name that no Service takes',
    name: '8b',
    spec: base,
    refusals: [
      'metadata.name: Invalid value: write a name of lower case letters, digits and "-" that begins with a letter, since the Service has the same name; or set endpointName',
    ],
  },
  { given: 'that name with an endpoint', name: '8b', spec: { ...base, endpointName: 'llm' }, refusals: [] },
  {
    given: 'a name that leaves no room for those of workers',
    name: 'a'.repeat(51),
    spec: base,
    refusals: [
      'metadata.name: Invalid value: write a name of at most 50 characters: children carry it in names and labels',
    ],
  },
];

const workers: readonly Refused[] = [
  {
    given: 'workers that are adopted',
    spec: template({ adopt: { instanceId: '7' } }),
    refusals: [
      'spec.template.spec.adopt: Forbidden: leave adopt out: the machines of a group are its own rentals',
    ],
  },
  {
    given: 'workers that run to completion',
    spec: template({ command: ['a'], completion: {} }),
    refusals: [
      'spec.template.spec.completion: Forbidden: leave completion out: a worker serves until it is removed; create a GpuInstance for a run',
    ],
  },
  {
    given: 'workers that end for idleness',
    spec: template({ idle: { after: '30m' } }),
    refusals: [
      'spec.template.spec.idle: Forbidden: leave idle out: the load of a group decides which workers run',
    ],
  },
  {
    given: 'workers that are stopped by hand',
    spec: template({ powerState: 'Stopped' }),
    refusals: [
      'spec.template.spec.powerState: Forbidden: leave powerState out: the group decides which workers run',
    ],
  },
  {
    given: 'workers that outlive their deletion',
    spec: template({ deletionPolicy: 'Retain' }),
    refusals: [
      'spec.template.spec.deletionPolicy: Forbidden: leave deletionPolicy out: a group destroys the workers that it deletes',
    ],
  },
  {
    given: 'a worker with the faults of an instance',
    spec: template({ offers: [{ minGpuMemory: '24Gi' }] }),
    refusals: [
      'spec.template.spec.offers[0].minGpuMemory: Invalid value: "24Gi": write 24G: the marketplace counts GPU memory in decimal GB',
    ],
  },
  {
    given: 'another account for the workers',
    was: base,
    spec: template({ accountRef: { name: 'b' } }),
    refusals: [
      'spec.template.spec.accountRef: Forbidden: accountRef cannot change: delete this object and create another for the other account',
    ],
  },
];

const sources: readonly Refused[] = [
  {
    given: 'a static load beside another source',
    spec: load({ type: 'Push', static: { load: '5' } }),
    refusals: [
      'spec.load.static: Forbidden: static belongs to type: Static: write that, or leave static out',
    ],
  },
  {
    given: 'settings of HTTPPull beside another source',
    spec: load({ type: 'Push', httpPull: {} }),
    refusals: [
      'spec.load.httpPull: Forbidden: httpPull belongs to type: HTTPPull: write that, or leave httpPull out',
    ],
  },
  {
    given: 'queries beside another source',
    spec: load({ prometheus: { loadQuery: 'up' } }),
    refusals: [
      'spec.load.prometheus: Forbidden: prometheus belongs to type: Prometheus: write that, or leave prometheus out',
    ],
  },
  {
    given: 'Prometheus without a query',
    spec: load({ type: 'Prometheus' }),
    refusals: ['spec.load.prometheus: Required value: type: Prometheus needs prometheus.loadQuery'],
  },
  {
    given: 'load that a gateway counts, and no gateway',
    spec: load({ type: 'Gateway' }),
    refusals: [
      'spec.load.type: Required value: type: Gateway needs an enabled gateway: write gateway: {}, or another type',
    ],
  },
  {
    given: 'load that a gateway counts, and a gateway that is off',
    spec: { ...load({ type: 'Gateway' }), gateway: { enabled: false } },
    refusals: [
      'spec.load.type: Required value: type: Gateway needs an enabled gateway: write gateway: {}, or another type',
    ],
  },
  {
    given: 'settings of HTTPPull beside the load of a gateway',
    spec: { ...load({ type: 'Gateway', httpPull: {} }), gateway: {} },
    refusals: [
      'spec.load.httpPull: Forbidden: httpPull belongs to type: HTTPPull: write that, or leave httpPull out',
    ],
  },
  {
    given: 'a custom preset without names',
    spec: load({ httpPull: { preset: 'Custom' } }),
    refusals: [
      'spec.load.httpPull: Required value: preset: Custom needs path, format and figures; or write preset: Pyworker or VLLM',
    ],
  },
  {
    given: 'a reply that may take a minute',
    spec: load({ httpPull: { timeout: '1m' } }),
    refusals: ['spec.load.httpPull.timeout: Invalid value: "1m": write at most 10s'],
  },
  {
    given: 'a reply that may take no time',
    spec: load({ httpPull: { timeout: '1ms' } }),
    refusals: ['spec.load.httpPull.timeout: Invalid value: "1ms": write at least 100ms'],
  },
  {
    given: 'a worker port out of range',
    spec: load({ httpPull: { port: 0 } }),
    refusals: [
      'spec.load.httpPull.port: Invalid value: 0: write a port number between 1 and 65535, or the name of a port',
    ],
  },
];

/** EndpointGroups that the API server refuses, and the lines that a user reads. */
export const refusedGroups: readonly Refused[] = [...numbers, ...workers, ...sources];
