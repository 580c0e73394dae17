import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { parseDuration } from '../../lib/duration.ts';
import type { Fault } from './yaml-source.ts';

/** Fields of the load source that belong to one type each. */
const TYPES = { static: 'Static', httpPull: 'HTTPPull', prometheus: 'Prometheus' } as const;
const SHARE = /^(100|[0-9]{1,2})%$/;
const [LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS] = [100, 10_000];

/** What the API server refuses below `load`, `template` and `updateStrategy` of a group. */
export function nestedFaults(spec: EndpointGroupSpec): readonly Fault[] {
  return [...loadFaults(spec), ...pullFaults(spec), ...templateFaults(spec), ...updateFaults(spec)];
}

function loadFaults({ load }: EndpointGroupSpec): readonly Fault[] {
  const fields = Object.keys(TYPES) as readonly (keyof typeof TYPES)[];
  const strangers = fields.filter((field) => load[field] !== undefined && load.type !== TYPES[field]);
  const faults = strangers.map((field) => ({
    path: ['spec', 'load', field],
    message: `${field} belongs to type: ${TYPES[field]}: write that, or leave ${field} out`,
  }));
  if (load.type !== 'Prometheus' || load.prometheus) return faults;
  return [...faults, { path: ['spec', 'load', 'type'], message: 'Prometheus needs prometheus.loadQuery' }];
}

function pullFaults({ load: { httpPull } }: EndpointGroupSpec): readonly Fault[] {
  if (!httpPull) return [];
  const at = ['spec', 'load', 'httpPull'];
  const { preset, path, format, figures, timeout } = httpPull;
  const faults: Fault[] = [];
  if (preset === 'Custom' && !(path && format && figures))
    faults.push({ path: [...at, 'preset'], message: 'Custom needs path, format and figures' });
  const ms = parseDuration(timeout) ?? 0;
  if (ms < LEAST_TIMEOUT_MS || ms > MOST_TIMEOUT_MS)
    faults.push({ path: [...at, 'timeout'], message: `timeout ${timeout} is not between 100ms and 10s` });
  return faults;
}

function templateFaults({ template: { spec } }: EndpointGroupSpec): readonly Fault[] {
  const refused: readonly (readonly [field: string, isBroken: boolean, why: string])[] = [
    ['adopt', spec.adopt !== undefined, 'the machines of a group are its own rentals'],
    ['powerState', spec.powerState !== 'Running', 'the group decides which workers run'],
    ['deletionPolicy', spec.deletionPolicy !== 'Destroy', 'a group destroys the workers that it deletes'],
  ];
  return refused
    .filter(([, isBroken]) => isBroken)
    .map(([field, , why]) => ({
      path: ['spec', 'template', 'spec', field],
      message: `leave ${field} out: ${why}`,
    }));
}

function updateFaults({ updateStrategy: { maxUnavailable } }: EndpointGroupSpec): readonly Fault[] {
  const isWell = typeof maxUnavailable === 'number' ? maxUnavailable >= 0 : SHARE.test(maxUnavailable);
  if (isWell) return [];
  const message = 'write a count such as 3, or a share between 0% and 100% such as 20%';
  return [{ path: ['spec', 'updateStrategy', 'maxUnavailable'], message }];
}
