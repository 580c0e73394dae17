import { describe, expect, test } from 'vitest';
import { at, type Given, given, holding, time, withMachine } from '../../../test/builders/observed.ts';
import { outline } from '../../../test/builders/outline.ts';
import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { Secret } from '../../lib/secret.ts';
import { connectionSecret, endpointSlices, instanceService, unpublished } from './children.ts';
import { decide } from './decide.ts';

const PUBLIC = { allowPrivate: false };
const PORTS = [{ name: 'http', containerPort: 8080 }];
const owner = given(withMachine({}, { spec: { ports: PORTS, ssh: true } })).object;
const fields = {
  ...holding(),
  ssh: { host: '203.0.113.5', port: 20_022 },
  publicAddress: '203.0.113.5',
  ports: [{ containerPort: 8080, protocol: 'TCP' as const, publicPort: 20_080, name: 'http' }],
};
const told = (reachable: 'True' | 'False', atWork?: string): GpuInstanceStatus['conditions'] =>
  [
    { type: 'Running', status: reachable, reason: 'Any' },
    ...(atWork === undefined ? [] : [{ type: 'Reconciling', status: 'True' as const, reason: atWork }]),
  ].map((condition) => ({ ...condition, message: '', lastTransitionTime: time(-60) }));
const text = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );

describe('the children of an instance', () => {
  test('the connection Secret has the shape of a service binding, and belongs to the object', () => {
    const secret = connectionSecret(
      owner,
      { fields, serving: true, ready: true },
      { workerToken: 't', instanceApiKey: new Secret('k') },
    );
    expect(secret).toMatchObject({
      apiVersion: 'v1',
      type: 'servicebinding.io/gpu-instance',
      metadata: {
        name: 'job-connection',
        namespace: 'team',
        labels: { 'app.kubernetes.io/managed-by': 'gpu-rental-operator', 'gpurental.dev/instance': 'job' },
        ownerReferences: [{ kind: 'GpuInstance', uid: owner.metadata.uid, controller: true }],
      },
    });
    expect(text(secret.data)).toEqual({
      type: 'gpu-instance',
      provider: 'gpu-rental-operator',
      host: '203.0.113.5',
      port: '20022',
      username: 'root',
      'instance-id': '1',
      address: '203.0.113.5',
      'instance-api-key': 'k',
      'worker-token': 't',
    });
  });

  test('the connection Secret has nothing that is not known', () => {
    const publication = { fields: { instanceId: '1', attempt: 1 }, serving: false, ready: false };
    const secret = connectionSecret(owner, publication, { workerToken: 't', instanceApiKey: undefined });
    expect(text(secret.data)).toEqual({
      type: 'gpu-instance',
      provider: 'gpu-rental-operator',
      username: 'root',
      'instance-id': '1',
      'worker-token': 't',
    });
  });

  test('the label of a child is no longer than a label may be, whatever the object is called', () => {
    const long = { ...owner, metadata: { ...owner.metadata, name: 'a'.repeat(80) } };
    expect(instanceService(long)?.metadata.labels?.['gpurental.dev/instance']).toBe('a'.repeat(63));
  });

  test.each([
    ['opens the port of SSH', 22, undefined, 22],
    ['opens the port of SSH under the name that is given to it', 22, 'shell', 22],
    ['opens another port that is called ssh', 2222, 'ssh', 2222],
  ])('the Service %s once', (_, containerPort, name, expected) => {
    const named = { containerPort, ...(name !== undefined && { name }) };
    const { object } = given(withMachine({}, { spec: { ports: [named], ssh: true } }));
    expect(instanceService(object)?.spec.ports.map(({ port }) => port)).toEqual([expected]);
  });

  test('another port that is called ssh leads to where it is published, not to SSH', () => {
    const spec = { ports: [{ name: 'ssh', containerPort: 2222 }], ssh: true };
    const published = [{ containerPort: 2222, protocol: 'TCP' as const, publicPort: 20_222 }];
    const [slice, ...others] = endpointSlices(
      given(withMachine({}, { spec })).object,
      { fields: { ...fields, ports: published }, serving: true, ready: true },
      PUBLIC,
    );
    expect(slice?.ports).toEqual([{ name: 'ssh', port: 20_222, protocol: 'TCP' }]);
    expect(others).toEqual([]);
  });

  test('reaches a machine by its published port when its SSH address is unknown', () => {
    const published = [{ containerPort: 22, protocol: 'TCP' as const, publicPort: 20_022 }];
    const { ssh: _untold, ...direct } = { ...fields, ports: published };
    const [slice] = endpointSlices(owner, { fields: direct, serving: true, ready: true }, PUBLIC);
    expect(slice?.ports).toEqual([{ name: 'ssh', port: 20_022, protocol: 'TCP' }]);
  });

  test('the Service opens the ports of the container and that of SSH', () => {
    expect(instanceService(owner)).toMatchObject({ apiVersion: 'v1', kind: 'Service' });
    expect(instanceService(owner)?.spec.ports).toEqual([
      { name: 'http', port: 8080, protocol: 'TCP' },
      { name: 'ssh', port: 22, protocol: 'TCP' },
    ]);
    expect(
      instanceService(given(withMachine({}, { spec: { ports: PORTS, service: { enabled: false } } })).object),
    ).toBeUndefined();
    expect(instanceService(given(withMachine()).object)).toBeUndefined();
  });

  test('opens no identity port by the Service, because its number changes with each rental (B15)', () => {
    const ports = [...PORTS, { name: 'p2p', containerPort: 70_000 }];
    const { object } = given(withMachine({}, { spec: { ports } }));
    expect(instanceService(object)?.spec.ports.map(({ port }) => port)).toEqual([8080]);
    expect(
      instanceService(given(withMachine({}, { spec: { ports: ports.slice(1) } })).object),
    ).toBeUndefined();
  });

  test('one slice leads to an address with all its ports', () => {
    expect(endpointSlices(owner, { fields, serving: true, ready: true }, PUBLIC)).toMatchObject([
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'job-direct', labels: { 'kubernetes.io/service-name': 'job' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['203.0.113.5'], conditions: { ready: true } }],
        ports: [
          { name: 'http', port: 20_080 },
          { name: 'ssh', port: 20_022, protocol: 'TCP' },
        ],
      },
    ]);
  });

  test('SSH that is reached elsewhere has a slice of its own, and a host name has none', () => {
    const proxied = { ...fields, ssh: { host: '198.51.100.7', port: 1234 } };
    expect(
      endpointSlices(owner, { fields: proxied, serving: true, ready: true }, PUBLIC).map(
        ({ metadata }) => metadata.name,
      ),
    ).toEqual(['job-direct', 'job-ssh']);
    const named = { ...fields, ssh: { host: 'ssh5.market.example', port: 1234 } };
    expect(
      endpointSlices(owner, { fields: named, serving: true, ready: true }, PUBLIC).map(
        ({ metadata }) => metadata.name,
      ),
    ).toEqual(['job-direct']);
  });

  test('nothing is served by a machine that does not run', () => {
    const [slice] = endpointSlices(owner, { fields, serving: false, ready: false }, PUBLIC);
    expect(slice?.endpoints).toEqual([{ addresses: ['203.0.113.5'], conditions: { ready: false } }]);
  });

  test.each<[string, readonly string[]]>([
    ['203.0.113.5', ['strict', 'open']],
    ['2606:4700::1', ['strict', 'open']],
    ['10.1.2.3', ['open']],
    ['fd00::1', ['open']],
    ['127.0.0.1', []],
    ['169.254.169.254', []],
    ['::ffff:169.254.169.254', []],
    ['0:0:0:0:0:0:0:1', []],
    ['::7f00:1', []],
    ['host.example', []],
  ])('%s is published with these settings alone: %o', (address, expected) => {
    const moved = { ...fields, publicAddress: address, ssh: { host: address, port: 20_022 } };
    const published = (allowPrivate: boolean) =>
      endpointSlices(owner, { fields: moved, serving: true, ready: true }, { allowPrivate }).length > 0;
    const problem = unpublished(owner, { fields: moved, serving: true, ready: true }, PUBLIC);
    expect(problem === undefined).toBe(published(false));
    const found = [...(published(false) ? ['strict'] : []), ...(published(true) ? ['open'] : [])];
    expect(found).toEqual(expected);
  });
});

describe('the Service leads to a machine', () => {
  const probed = { readinessProbe: { tcpSocket: { port: 22 } }, ssh: true };
  const asked = { 'gpurental.dev/replace-at': time(-1) };
  const there = (conditions: GpuInstanceStatus['conditions'], { spec }: Given) =>
    holding(
      {
        endpoint: '203.0.113.5:20022',
        ssh: { host: '203.0.113.5', port: 20_022 },
        publicAddress: '203.0.113.5',
        conditions,
      },
      spec,
    );
  const written = (conditions: GpuInstanceStatus['conditions'], situation: Given) => {
    const observed = { published: undefined, ...situation.observed };
    const step = decide(
      given({ ...withMachine({}, { ...situation, observed }), status: there(conditions, situation) }),
    );
    return step.type === 'publish' ? step.publication : 'nothing';
  };
  const probe = (ready: boolean): Given => ({ spec: probed, observed: { probe: { ready, detail: '' } } });

  test.each<[string, GpuInstanceStatus['conditions'], Given, unknown]>([
    ['no more when its probe fails', told('True'), probe(false), { serving: true, ready: false }],
    ['again when its probe succeeds', told('False'), probe(true), { serving: true, ready: true }],
    ['as before while its probe fails on', told('False'), probe(false), 'nothing'],
    ['as before while its probe succeeds', told('True'), probe(true), 'nothing'],
    [
      'no more before it is destroyed for another',
      told('True'),
      { annotations: asked },
      { serving: true, ready: false },
    ],
    ['no more, once it was told to go', told('True', 'Replacing'), { annotations: asked }, 'nothing'],
    [
      'no more before it is stopped',
      told('True'),
      { spec: { powerState: 'Stopped' } },
      { serving: true, ready: false },
    ],
    [
      'no more before it is stopped at a limit that it is kept beyond',
      told('True'),
      { spec: { maxLifetime: '1m', deletionPolicy: 'Stop' } },
      { serving: true, ready: false },
    ],
    [
      'while its end is held back',
      told('True', 'Paused'),
      { annotations: asked, spec: { paused: true } },
      'nothing',
    ],
  ])('%s', (_, conditions, situation, expected) => {
    const publication = written(conditions, situation);
    expect(publication).toEqual(
      expected === 'nothing' ? 'nothing' : { fields: expect.anything(), ...(expected as object) },
    );
  });

  test('destroys a machine without a Service without publishing anything', () => {
    const situation = { annotations: asked, spec: { service: { enabled: false } } };
    expect(written(told('True'), situation)).toBe('nothing');
  });

  test('a foreign object of the name of a child does not hide why a machine ends', () => {
    const taken = { type: 'nameTaken' as const, detail: 'Secret job-connection exists.' };
    const situation = { annotations: asked, observed: { published: taken } };
    const step = decide(given({ ...withMachine({}, situation), status: there(told('True'), situation) }));
    expect(outline(step)).toMatchObject({
      actions: ['destroy 1 (ReplaceRequested)'],
      says: 'ReplaceRequested, Replacing',
    });
  });
});

test('a machine without an address yet is no reason to say that it cannot be published', () => {
  expect(
    unpublished(owner, { fields: { instanceId: '1' }, serving: true, ready: true }, PUBLIC),
  ).toBeUndefined();
});

describe('what a status says of the children', () => {
  const unwritten = { observed: { published: undefined } };
  const { binding: _none, ...bare } = holding({
    endpoint: '203.0.113.5:20022',
    ssh: { host: '203.0.113.5', port: 20_022 },
    publicAddress: '203.0.113.5',
    conditions: told('True'),
  });

  test('comes after they were written', () => {
    expect(outline(decide(given({ ...withMachine({}, unwritten), status: bare })))).toEqual({
      publish: true,
    });
  });

  test('is not written again while nothing about the address changes', () => {
    const said = given({
      ...withMachine({}, unwritten),
      status: { ...bare, binding: { name: 'job-connection' } },
    });
    expect(outline(decide(said))).toMatchObject({ rule: 'run' });
  });

  test('is compared with them again when their turn has come, and the next turn is awaited', () => {
    const bound = { ...bare, binding: { name: 'job-connection' } };
    const due = withMachine({}, { ...unwritten, memory: { childrenDueAt: at(-1) } });
    expect(outline(decide(given({ ...due, status: bound })))).toEqual({ publish: true });
    const later = withMachine({}, { ...unwritten, memory: { childrenDueAt: at(60) } });
    expect(outline(decide(given({ ...later, status: bound })))).toMatchObject({
      rule: 'run',
      afterMs: 60_000,
    });
  });

  test('of a machine that does not run is not compared', () => {
    const offline = withMachine({ state: 'offline' }, { ...unwritten, memory: { childrenDueAt: at(-1) } });
    const { endpoint: _withdrawn, ...quiet } = bare;
    const status = { ...quiet, binding: { name: 'job-connection' } };
    expect(outline(decide(given({ ...offline, status })))).not.toHaveProperty('publish');
  });

  test('comes after they were withdrawn from a machine that does not run', () => {
    const offline = withMachine({ state: 'offline' }, unwritten);
    expect(
      outline(decide(given({ ...offline, status: { ...bare, binding: { name: 'job-connection' } } }))),
    ).toEqual({ publish: false });
  });

  const bound = { ...bare, binding: { name: 'job-connection' } };

  test.each([
    ['the spec is another one', { status: { ...bound, observedGeneration: 0 } }],
    [
      'a person asks for it',
      { status: bound, annotations: { 'gpurental.dev/requested-at': '2026-11-20T12:00:00Z' } },
    ],
  ])('is compared with them at once where %s', (_, situation) => {
    expect(outline(decide(given({ ...withMachine({}, unwritten), ...situation })))).toEqual({
      publish: true,
    });
  });

  test('is compared no sooner than they are due, and the object is looked at sooner where it must be', () => {
    const looksAfter = (change: Parameters<typeof withMachine>[0], childrenDueAt: number) => {
      const situation = withMachine(change, { ...unwritten, memory: { childrenDueAt } });
      return outline(decide(given({ ...situation, status: bound })))['afterMs'];
    };
    expect(looksAfter({}, at(1))).toBe(1_000);
    const soonest = looksAfter({ state: 'offline' }, at(600));
    expect(looksAfter({ state: 'offline' }, at(2))).toBe(soonest);
  });

  test('is looked at in time where something else comes before the children', () => {
    const waiting = { ...unwritten, spec: { maxLifetime: '6m' }, memory: { childrenDueAt: at(250) } };
    expect(outline(decide(given({ ...withMachine({}, waiting), status: bound })))['afterMs']).toBe(60_000);
  });

  test('says what kept the operator from writing them, and looks again within a minute', () => {
    const detail = 'The operator may not write Secret job-connection.';
    const failed = { observed: { published: { type: 'failed' as const, detail } } };
    const lasting = { ...failed, spec: { maxLifetime: '1h' } };
    const step = decide(given({ ...withMachine({}, lasting), status: bare }));
    const says = (status: string) => ({
      status,
      reason: 'NotPermitted',
      message: expect.stringContaining(detail),
    });
    expect(outline(step)).toMatchObject({ afterMs: 60_000 });
    expect(step).toMatchObject({
      status: { verdict: { Ready: says('False'), Reconciling: says('True') } },
    });
  });

  test('of a machine that does not run is nothing new, whatever its addresses are', () => {
    const { endpoint: _withdrawn, ...quiet } = bound;
    const moved = withMachine({ state: 'offline', publicAddress: '203.0.113.9' }, unwritten);
    expect(outline(decide(given({ ...moved, status: quiet })))).not.toHaveProperty('publish');
    const withoutService = withMachine(
      { state: 'offline' },
      { ...unwritten, spec: { service: { enabled: false } } },
    );
    expect(outline(decide(given({ ...withoutService, status: bound })))).not.toHaveProperty('publish');
  });

  test('names a foreign object of the same name, and the object is not ready', () => {
    const taken = {
      observed: { published: { type: 'nameTaken' as const, detail: 'Secret job-connection exists.' } },
    };
    const step = decide(given({ ...withMachine({}, taken), status: bare }));
    expect(outline(step)).toMatchObject({ rule: 'run', says: 'NameTaken', afterMs: 60_000 });
    expect(step.type === 'decision' && step.status?.fields.binding).toBeUndefined();
  });

  test('reports an address that may not be published by an event, and delays nothing', () => {
    const said = 'its address 10.1.2.3 is a private or cluster address';
    const done = { type: 'done' as const, bindingName: 'job-connection', unpublished: said };
    const step = decide(given({ ...withMachine({}, { observed: { published: done } }), status: bare }));
    expect(outline(step)).toMatchObject({ rule: 'run', says: 'Ready' });
    const note = expect.stringContaining(said);
    expect(step).toMatchObject({
      events: [
        { type: 'Normal', reason: 'InstanceReady' },
        { type: 'Warning', reason: 'EndpointsLeftOut', action: 'Publishing', note },
      ],
    });
    const offline = decide(
      given({ ...withMachine({ state: 'offline' }, { observed: { published: done } }), status: bare }),
    );
    expect(offline).toMatchObject({ events: [] });
  });

  test('nothing is published for a machine that is only watched', () => {
    const watched = withMachine(
      {},
      {
        ...unwritten,
        spec: { adopt: { instanceId: '1', policy: 'Observe' } },
        facts: { adoption: 'Unlabelled' },
      },
    );
    const [machine] = watched.machines ?? [];
    const list = machine
      ? { adoptTarget: { row: { ...machine.row, label: null }, ownership: { type: 'unlabelled' as const } } }
      : {};
    expect(outline(decide(given({ ...watched, list, status: bare })))).toMatchObject({
      rule: 'observe',
      phase: 'Observed',
    });
  });
});
