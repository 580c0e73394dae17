import { describe, expect, test } from 'vitest';
import { groupObject, groupWorker, workerObject } from '../../../../test/builders/group-worker.ts';
import type { ServicePort } from '../../../runtime/kube/core-resources.ts';
import type { Worker } from '../workers/worker.ts';
import { endpointsOf, servicePorts } from './endpoints.ts';

type DeclaredPort = Partial<ServicePort> & { readonly containerPort: number };

function groupWith(...ports: readonly DeclaredPort[]) {
  const offers = [{ maxPricePerHour: '1' }];
  return groupObject({ template: { spec: { image: 'x/y:1', offers, ports } } });
}

/** Returns a worker with these ports, each mapped to its number plus 20000. */
function workerWith(...ports: readonly DeclaredPort[]): Worker {
  const mapped = ports.map(({ protocol = 'TCP' as const, ...port }) => ({
    ...{ ...port, protocol },
    publicPort: port.containerPort + 20_000,
  }));
  const object = workerObject('w', { status: { ...workerObject('w').status, ports: mapped } });
  return groupWorker({ name: 'w', object });
}

/** Returns name and public port of each endpoint port of the worker, or its problem. */
function portsOf(declared: readonly DeclaredPort[], own: readonly DeclaredPort[]): unknown {
  const policy = { allowPrivate: false };
  const { endpoints, problems } = endpointsOf(groupWith(...declared), [workerWith(...own)], policy);
  return endpoints[0]?.ports.map(({ name, port }) => [name, port]) ?? problems[0]?.detail;
}

const http = (containerPort: number) => ({ name: 'http', containerPort });
const metrics = (containerPort: number) => ({ name: 'metrics', containerPort });
const NONE = 'none of the declared ports is mapped';

test('omits identity ports of the template from the Service (B15)', () => {
  const p2p = { name: 'p2p', containerPort: 70_000 };
  expect(portsOf([http(8000), p2p], [http(8000)])).toEqual([['http', 28_000]]);
  expect(servicePorts(groupWith(p2p))).toEqual([]);
});

describe('a worker of an earlier template', () => {
  test('is reached at its own mapping of a port with a new number', () => {
    expect(portsOf([http(9000)], [http(8000)])).toEqual([['http', 28_000]]);
  });

  test('is reached by the number of a port with a new name', () => {
    const web = { name: 'web', containerPort: 8000 };
    expect(portsOf([web], [http(8000)])).toEqual([['web', 28_000]]);
    expect(portsOf([{ containerPort: 8000 }], [http(8000)])).toEqual([['tcp-8000', 28_000]]);
    expect(portsOf([http(8000)], [{ containerPort: 8000 }])).toEqual([['http', 28_000]]);
  });

  test('keeps its ports apart when another port takes over a number', () => {
    const own = [http(8000), metrics(9000)];
    expect(portsOf([http(9000), metrics(9100)], own)).toEqual([
      ['http', 28_000],
      ['metrics', 29_000],
    ]);
    expect(portsOf([http(9000), { name: 'admin', containerPort: 8000 }], own)).toEqual([['http', 28_000]]);
  });

  test('is reached at its own ports when the template adds one', () => {
    expect(portsOf([http(8000), metrics(9000)], [http(8000)])).toEqual([['http', 28_000]]);
  });

  test.each<[string, DeclaredPort, DeclaredPort]>([
    ['name and number differ', metrics(9000), http(8000)],
    ['it has no name and another number', { containerPort: 9000 }, { containerPort: 8000 }],
    ['the protocol differs', { ...http(8000), protocol: 'UDP' }, http(8000)],
    ['name and protocol differ', { ...metrics(8000), protocol: 'UDP' }, http(8000)],
  ])('is not reached at a port when %s', (_what, declared, own) => {
    expect(portsOf([declared], [own])).toBe(NONE);
  });
});
