import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_VERSION, endpointGroupResource, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { Interrupted } from '../../src/cli/command-error.ts';
import { Secret } from '../../src/lib/secret.ts';
import { makeLabel, readLabel } from '../../src/ownership/label.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { until } from '../builders/until.ts';
import {
  deleteInstance,
  goneFromCluster,
  identityOf,
  lists,
  running,
  useSharedBench,
} from '../integration/gpu-instance-bench.ts';
import { type ClusterPerson, clusterPerson } from './cluster.ts';
import type { Ran, RunOptions } from './command-line.ts';

/* Commands about cluster objects, against a real API server with the operator running. */

const CANARY = 'canary-31f8a0';

const shared = useSharedBench({ account: { adoption: 'Unlabelled' } });
let person: ClusterPerson;
let instanceId: string;

beforeAll(async () => {
  const bench = shared();
  person = await clusterPerson(bench);
  const env = [{ name: 'TOKEN', value: CANARY }];
  const { status } = await running(bench, 'trainer', { ssh: true, env, onStart: `echo ${CANARY}` });
  instanceId = status?.instanceId ?? '';
  await bench.kube.create(endpointGroupResource, {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { namespace: bench.namespace, name: 'chat' },
    spec: {
      replicas: 0,
      coldWorkers: 0,
      load: { type: 'Static', static: { load: '0' } },
      template: { spec: { image: 'example/image:1', offers: [{ maxPricePerHour: '100' }] } },
    },
  } as KubeObject);
});
afterAll(() => person.leave());

/** Runs a command line in the namespace of the bench; marketplace commands get its address. */
const gpuRent = (line: string, options?: RunOptions): Promise<Ran> =>
  person.cli.run(['-n', shared().namespace, ...line.split(' ')], options);
const atMarketplace = (line: string, options?: RunOptions): Promise<Ran> =>
  gpuRent(`--url ${person.url} ${line}`, options);

/** Waits for a few polls of the operator, after which its pending writes are done. */
async function passes(): Promise<void> {
  const before = lists(shared());
  await until('some polls', () => lists(shared()) > before + 3);
}

describe('status', () => {
  test('shows machine, money, timeline and what happens next of a GpuInstance', async () => {
    const { exitCode, stdout } = await gpuRent('status gpui/trainer');
    expect(exitCode).toBe(0);
    for (const told of [`instance ${instanceId}`, '/h', 'SSH:', 'Conditions:', 'InstanceRented', 'Ready:'])
      expect(stdout).toContain(told);
    expect(stdout).not.toContain(CANARY);
  });

  test('knows every spelling of the kind, and gives the same as JSON', async () => {
    for (const name of [
      'trainer',
      'gpuinstance/trainer',
      'gpuinstances.gpurental.dev/trainer',
      'GPUI/trainer',
    ]) {
      const { stdout } = await gpuRent(`status ${name} -o json`);
      expect(JSON.parse(stdout)).toMatchObject({ object: 'gpui/trainer' });
    }
  });

  test('shows an account and a group', async () => {
    expect((await gpuRent('status gpuacct/default')).stdout).toContain('Machines can be rented');
    await until('the group is seen', async () => (await gpuRent('status epg/chat')).stdout.includes('0 hot'));
  });

  test.each(['gpui/absent', 'epg/absent', 'gpuacct/absent'])('of %s ends with 3', async (name) => {
    const { exitCode, stderr } = await gpuRent(`status ${name}`);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(`There is no ${name} in namespace ${shared().namespace}.`);
  });
});

describe('--as-group', () => {
  const asMember = (...groups: readonly string[]) =>
    gpuRent(`status gpui/trainer --as=nobody ${groups.map((group) => `--as-group=${group}`).join(' ')}`);

  test('gives the rights of each group that is named', async () => {
    expect(await asMember('of:none', 'system:masters')).toMatchObject({ exitCode: 0 });
    expect(await asMember('system:masters', 'of:none')).toMatchObject({ exitCode: 0 });
    expect(await asMember('of:none')).toMatchObject({ exitCode: 1 });
  });
});

describe('explain', () => {
  test('names the rule that fires, and changes nothing', async () => {
    await passes();
    const before = await shared().instance('trainer');
    const { exitCode, stdout } = await atMarketplace('explain gpui/trainer');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`machine ${instanceId} is running`);
    expect(stdout).toMatch(/^Rule: +run$/m);
    expect(stdout).toMatch(/^Would do: +nothing$/m);
    expect((await shared().instance('trainer'))?.metadata.resourceVersion).toBe(
      before?.metadata.resourceVersion,
    );
  });

  test('says what a paused object without a machine would do', async () => {
    await shared().createInstance('held', { paused: true });
    const { stdout } = await atMarketplace('explain gpui/held -o json');
    expect(JSON.parse(stdout)).toMatchObject({ object: 'gpui/held', actions: [] });
  });

  test('shows the terms of the last scaling decision of a group', async () => {
    const { exitCode, stdout } = await gpuRent('explain epg/chat');
    expect(exitCode).toBe(0);
    expect(stdout).not.toBe('');
  });
});

describe('wait', () => {
  test('ends with 0 once it is so', async () => {
    const { exitCode, stdout } = await gpuRent('wait gpui/trainer --timeout 20s');
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^gpui\/trainer is ready after \d+s\n$/),
    });
    expect(await gpuRent('wait gpui/trainer --for condition=Rented --timeout 5s')).toMatchObject({
      exitCode: 0,
    });
    expect(await gpuRent('wait gpui/trainer --for phase=running --timeout 5s')).toMatchObject({
      exitCode: 0,
    });
  });

  test('ends with 4 when it is not so in time, and says what it waited for', async () => {
    const { exitCode, stderr } = await gpuRent('wait gpui/trainer --for phase=Stopped --timeout 1s');
    expect(exitCode).toBe(4);
    expect(stderr).toContain('gpui/trainer was not Stopped within 1s');
  });

  test('ends with 3 where there is nothing to wait for', async () => {
    expect(await gpuRent('wait gpui/absent --timeout 5s')).toMatchObject({ exitCode: 3 });
    expect(await gpuRent('wait gpui/absent --for delete')).toMatchObject({ exitCode: 0 });
  });

  test('waits for a deletion', async () => {
    await running(shared(), 'leaving');
    await deleteInstance(shared(), 'leaving');
    expect(await gpuRent('wait gpui/leaving --for delete --timeout 30s')).toMatchObject({ exitCode: 0 });
  });

  test('is ended by a signal', async () => {
    const abort = new AbortController();
    const waiting = gpuRent('wait gpui/trainer --for phase=Stopped', { signal: abort.signal });
    abort.abort(new Interrupted());
    expect(await waiting).toMatchObject({ exitCode: 130, stderr: 'Interrupted.\n' });
  });
});

describe('ssh', () => {
  test('prints the command that opens a shell, with host keys of its own', async () => {
    const { stdout } = await gpuRent('ssh gpui/trainer --print -- nvidia-smi -L');
    expect(stdout).toMatch(/^ssh -p \d+ .*UserKnownHostsFile=\S+-trainer-\d+ .*root@\S+ nvidia-smi -L\n$/);
  });

  test('runs the ssh of the machine and ends as that ends', async () => {
    const bin = join(person.cli.home, 'bin');
    await mkdir(bin, { recursive: true });
    const record = join(person.cli.home, 'ssh-arguments');
    await writeFile(join(bin, 'ssh'), `#!/bin/sh\nprintf '%s\\n' "$@" > ${record}\nexit 7\n`, {
      mode: 0o755,
    });
    const path = process.env.PATH;
    process.env.PATH = `${bin}:${path}`;
    try {
      expect((await gpuRent('ssh gpui/trainer -i my.key')).exitCode).toBe(7);
    } finally {
      process.env.PATH = path;
    }
    expect(await readFile(record, 'utf8')).toContain('-i\nmy.key\n');
  });

  test('of a machine by its id asks the marketplace', async () => {
    const { stdout } = await gpuRent(`ssh ${instanceId} --print`);
    expect(stdout).toContain('root@');
  });

  test('of an object without a machine says why', async () => {
    await shared().createInstance('idle', { paused: true });
    const { exitCode, stderr } = await gpuRent('ssh gpui/idle');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/gpui\/idle has no machine .*\nWhat to do: .*gpu-rent resume gpui\/idle/);
  });
});

describe('logs', () => {
  test('are those of the machine, of an object or by its id', async () => {
    const [byName, byId] = await Promise.all([
      atMarketplace('logs gpui/trainer --tail 1'),
      gpuRent(`logs ${instanceId} --tail 1`),
    ]);
    expect(byName).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('container') });
    expect(byId).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('container') });
  });
});

describe('cost', () => {
  test('lists each object and the sum, the sum not to scripts', async () => {
    await running(shared(), 'second');
    const { stdout } = await gpuRent('cost');
    expect(stdout).toMatch(/^\S+ +trainer/m);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/total/);
    const rows = JSON.parse((await gpuRent('cost -o json')).stdout) as { name: string; perHour: number }[];
    expect(rows.map(({ name }) => name)).not.toContain('total');
    expect(rows.find(({ name }) => name === 'trainer')?.perHour).toBeGreaterThan(0);
    const one = JSON.parse((await gpuRent('cost gpui/trainer -o json')).stdout);
    expect(one).toMatchObject([{ name: 'trainer' }]);
    expect((await gpuRent('cost epg/chat -o json')).stdout).toBe('[]\n');
    expect(await gpuRent('cost gpui/absent')).toMatchObject({ exitCode: 3 });
    await deleteInstance(shared(), 'second');
    await goneFromCluster(shared(), 'second');
  });
});

describe('avoid', () => {
  const hosts = async () => (await shared().account())?.status?.avoid?.map(({ id }) => id) ?? [];

  test('add, list and clear take effect while the operator runs', async () => {
    expect(await gpuRent('avoid add host/4711 --for 2h --reason Slow')).toMatchObject({ exitCode: 0 });
    await passes();
    expect(await hosts()).toContain('4711');
    expect((await gpuRent('avoid list')).stdout).toMatch(/gpuacct\/default +host\/4711 +\S+ +1 +Slow/);
    expect(await gpuRent('avoid clear host/4711')).toMatchObject({ exitCode: 0 });
    await passes();
    expect(await hosts()).not.toContain('4711');
    expect(await gpuRent('avoid clear host/4711 -o json')).toMatchObject({ exitCode: 0, stdout: 'null\n' });
    expect(await gpuRent('avoid clear --all -o json')).toMatchObject({ exitCode: 0, stdout: '[]\n' });
  });
});

describe('pause and resume', () => {
  test('of a GpuInstance and of a group', async () => {
    expect((await gpuRent('pause gpui/trainer epg/chat')).stdout).toBe(
      'gpui/trainer paused\nepg/chat paused\n',
    );
    expect((await shared().instance('trainer'))?.spec.paused).toBe(true);
    expect(await gpuRent('resume gpui/trainer epg/chat')).toMatchObject({ exitCode: 0 });
    expect((await shared().instance('trainer'))?.spec.paused).toBe(false);
  });
});

describe('import', () => {
  test('writes a manifest that takes a machine over, and --apply creates it', async () => {
    const found = await person.cli.run(['search', 'offers', '-o', 'json', '--order', 'dph_total-']);
    const offer = String(JSON.parse(found.stdout)[0].id);
    const made = await person.cli.run([
      'create',
      'instance',
      offer,
      '--image',
      'ubuntu:24.04',
      '--label',
      '',
      '-o',
      'json',
    ]);
    const id = JSON.parse(made.stdout).id;
    const { stdout, stderr } = await gpuRent(`import ${id} --policy Observe`);
    expect(stderr).toBe('');
    expect(stdout).toContain(`instanceId: "${id}"`);
    expect(await gpuRent(`import ${id} --policy Observe --name seen --apply`)).toMatchObject({ exitCode: 0 });
    await until('it is observed', async () => (await shared().instance('seen'))?.status?.instanceId === id);
    await deleteInstance(shared(), 'seen');
    await goneFromCluster(shared(), 'seen');
    await person.cli.run(['destroy', 'instance', String(id), '--yes']);
  });

  test('of a machine that is not there ends with 3', async () => {
    expect(await gpuRent('import 999999')).toMatchObject({ exitCode: 3 });
  });
});

describe('orphans', () => {
  const found = async () => JSON.parse((await atMarketplace('orphans gpuacct/default -o json')).stdout);

  test('finds a machine of ours whose object is gone, one with a forged label, and no other', async () => {
    expect(await found()).toEqual([]);
    const { simulator } = shared();
    const contract = simulator.world().tables.contracts[Number(instanceId)];
    const ours = await identityOf(shared());
    const reading = readLabel(ours, contract?.label);
    if (!contract || reading.type !== 'verified') throw new Error('the machine has no label of ours');
    const facts = { ...reading.facts, uid: '00000000-aaaa-bbbb-cccc-000000000000' };
    const labels = [makeLabel(ours, facts), makeLabel({ ...ours, keys: [new Secret('not ours')] }, facts)];
    const ids = labels.map((label) => {
      const id = simulator.store.nextId('contract');
      simulator.store.put('contracts', { ...contract, id, label });
      return id;
    });
    expect(await found()).toMatchObject([
      { instance: String(ids[0]), verdict: 'orphan', objectUid: facts.uid },
      { instance: String(ids[1]), verdict: 'label forged' },
    ]);
    for (const id of ids) await person.cli.run(['destroy', 'instance', String(id), '--yes', '--force']);
    expect(await found()).toEqual([]);
  });
});

describe('destroy instance', () => {
  test('refuses a machine that an object owns', async () => {
    const { exitCode, stderr } = await person.cli.run(['destroy', 'instance', String(instanceId), '--yes']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('belongs to an operator');
    expect(
      shared()
        .billing()
        .some(({ id }) => String(id) === instanceId),
    ).toBe(true);
  });
});

describe('plan -f', () => {
  const manifest = (spec: unknown) =>
    JSON.stringify({ apiVersion: API_VERSION, kind: 'GpuInstance', metadata: { name: 'planned' }, spec });

  const planned = () => ({ namespace: shared().namespace, name: 'planned' });

  test('shows what would be rented, at which price, and which offers lost and why', async () => {
    const stdin = manifest({ image: 'x', offers: [{ maxPricePerHour: '100' }] });
    const { exitCode, stdout } = await gpuRent('plan -f - --why --no-cluster', { stdin });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^gpui\/planned would rent offer \d+: .*\/h/);
    expect(stdout).toMatch(/lost: /);
  });

  test('considers the limits of the account, by its login, and asks the API server', async () => {
    const stdin = manifest({ image: 'x', offers: [{ maxPricePerHour: '100' }] });
    const { stdout } = await atMarketplace('plan -f -', { stdin, env: { GPU_RENT_API_KEY: 'not-this-one' } });
    expect(stdout).toContain('the API server would take it');
    expect(stdout).toContain('limits and avoid list of gpuacct/default are considered');
    expect(await shared().kube.get(gpuInstanceResource, planned())).toBeUndefined();
  });

  test('leaves rules that span fields to the API server, and ends with 2 where it would refuse', async () => {
    const stdin = manifest({ image: 'x', offers: [{ minGpuMemory: '24Gi', maxPricePerHour: '100' }] });
    const { exitCode, stdout, stderr } = await atMarketplace('plan -f -', { stdin });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('The API server would refuse gpui/planned');
    expect(stderr).toContain('write 24G: the marketplace counts GPU memory in decimal GB');
  });

  test.each([
    ['plan -f - --no-cluster', 'checked by the rules of the resource definitions'],
    ['plan -f - --kubeconfig /no/such/file', 'Cannot read the kubeconfig /no/such/file'],
    ['plan -f - --as somebody', 'checked by the rules of the resource definitions'],
  ])('%s says what was not checked', async (line, note) => {
    const stdin = manifest({ image: 'x', offers: [{ maxPricePerHour: '100' }] });
    expect((await atMarketplace(line, { stdin })).stdout).toContain(note);
  });

  test('F3: says what becomes of a machine that is there, and searches nothing for one that stays', async () => {
    const spec = (await shared().instance('trainer'))?.spec;
    const edited = (change: object): string =>
      JSON.stringify({
        ...{ apiVersion: API_VERSION, kind: 'GpuInstance', metadata: { name: 'trainer' } },
        spec: { ...spec, ...change },
      });
    const same = await atMarketplace('plan -f -', { stdin: edited({}) });
    expect(same.exitCode).toBe(0);
    expect(same.stdout).toMatch(
      new RegExp(`^gpui/trainer keeps machine ${instanceId} \\(up \\S+, \\$\\d+\\.\\d\\d\\)\\.\n`),
    );
    expect(same.stdout).not.toContain('would rent');
    const other = await atMarketplace('plan -f -', { stdin: edited({ image: 'example/other:2' }) });
    expect(other.stdout).toMatch(
      new RegExp(
        `^gpui/trainer replaces machine ${instanceId} \\(up \\S+, \\$\\d+\\.\\d\\d, 10 GB disk lost\\) once another machine can be rented: `,
      ),
    );
    expect(other.stdout).toContain('gpui/trainer would rent offer');
  });

  test('ends with 3 if nothing matches, and names the requirement to drop', async () => {
    const stdin = manifest({ image: 'x', offers: [{ gpuNames: ['No Such GPU'], maxPricePerHour: '100' }] });
    const { exitCode, stdout } = await atMarketplace('plan -f -', { stdin });
    expect(exitCode).toBe(3);
    expect(stdout).toContain('would rent nothing: No offer matches. No offer has the GPU No Such GPU.');
    expect(stdout).toMatch(/Dropping one requirement would leave: \d+ without gpuNames/);
  });

  test('names the field that is wrong', async () => {
    const stdin = manifest({ image: 'x', offers: [{ gpuCount: 'two', maxPricePerHour: '100' }] });
    const { exitCode, stderr } = await gpuRent('plan -f -', { stdin });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('spec.offers.0.gpuCount');
  });
});

describe('diff -f', () => {
  const spec = (change: object) => ({
    ...{ image: 'x', paused: true, offers: [{ maxPricePerHour: '100' }] },
    ...change,
  });
  const manifest = (name: string, change: object) => ({
    ...{ apiVersion: API_VERSION, kind: 'GpuInstance', metadata: { name, labels: { team: 'a' } } },
    spec: spec(change),
  });
  const env = [{ name: 'A', value: 'b' }];

  /** Applies a manifest as kubectl does, with and without --server-side. */
  const applied: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    'on the client side': (name) => {
      const { metadata, ...rest } = manifest(name, { env });
      const last = JSON.stringify({ ...rest, metadata: { ...metadata, annotations: {} } });
      const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': last };
      const named = { ...metadata, namespace: shared().namespace, annotations };
      return shared().kube.create(gpuInstanceResource, { ...rest, metadata: named });
    },
    'on the server side': (name) => {
      const ref = { namespace: shared().namespace, name };
      const body = manifest(name, { env });
      return shared().kube.patch(gpuInstanceResource, ref, { type: 'apply', body, fieldManager: 'kubectl' });
    },
  };

  test.each(Object.keys(applied))('sees a field that is gone from what was applied %s', async (side) => {
    const name = side.replaceAll(' ', '-');
    await applied[side]?.(name);
    const same = await gpuRent('diff -f - --exit-code', { stdin: JSON.stringify(manifest(name, { env })) });
    expect(same).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('matches the manifest.') });
    const stdin = JSON.stringify(manifest(name, {}));
    const { exitCode, stdout } = await gpuRent('diff -f - --exit-code', { stdin });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^- {2}env:\n- {4}- name: A\n- {6}value: b$/m);
    expect(stdout.match(/^[-+] /gm)).toHaveLength(3);
  });

  test('ends with 2 if the API server would refuse it', async () => {
    const stdin = JSON.stringify(
      manifest('refused', { offers: [{ minGpuMemory: '24Gi', maxPricePerHour: '1' }] }),
    );
    const { exitCode, stdout, stderr } = await gpuRent('diff -f -', { stdin });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('The API server would refuse gpui/refused');
  });
});

describe('report', () => {
  test('holds objects, events and checks, and no secret', async () => {
    const folder = join(person.cli.home, 'report');
    const { exitCode } = await gpuRent(`report --to ${folder}`);
    expect(exitCode).toBe(0);
    const names = await readdir(folder, { recursive: true });
    const texts = await Promise.all(
      names.filter((name) => name.endsWith('.yaml')).map((name) => readFile(join(folder, name), 'utf8')),
    );
    expect(names.some((name) => name.endsWith('GpuInstance-trainer.yaml'))).toBe(true);
    expect(names).toContain('doctor.yaml');
    for (const secret of [CANARY, shared().simulator.apiKey]) expect(texts.join('\n')).not.toContain(secret);
    expect(texts.join('\n')).toContain('name: TOKEN');
  });

  test('is an archive that tar reads', async () => {
    const path = join(person.cli.home, 'report.tar.gz');
    expect(await gpuRent(`report --to ${path}`)).toMatchObject({ exitCode: 0 });
    const { gunzipSync } = await import('node:zlib');
    const archive = gunzipSync(await readFile(path)).toString('latin1');
    expect(archive).toContain('doctor.yaml');
    expect(archive).not.toContain(CANARY);
  });
});
