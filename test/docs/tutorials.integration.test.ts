import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { lookAround } from '../../scripts/demo/look-around.ts';
import { startPicker } from '../../scripts/demo/picker-process.ts';
import { type Marketplace, openChatSimulator, openSimulator } from '../../scripts/demo/simulator.ts';
import { readLedger } from '../../scripts/demo/simulator-control.ts';
import { applySample, DEMO_NAMESPACE, type Stage, setStage } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { SSHD, type SshMachine, sshMachine } from '../builders/ssh-machine.ts';
import { findFreePort } from '../cluster/free-port.ts';
import type {} from '../cluster/provided-context.ts';
import { commandsOf, endPlaygrounds, READY_MS, startPlayground } from '../demo/playground-process.ts';
import { envoyBinary } from '../tools/envoy.ts';
import { followTutorial } from './tutorial.ts';
import { typistOn } from './typist.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  await endPlaygrounds();
});

/** A folder that looks like a clone of the repository. */
function cloneFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tutorial-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['deploy', 'crds', 'charts']) symlinkSync(join(REPOSITORY, name), join(folder, name));
  return folder;
}

interface Desk {
  readonly variables?: Readonly<Record<string, string>>;
  /** Before those of the cluster on PATH. */
  readonly programs?: readonly string[];
  readonly folder?: string;
}

async function follow(page: string, stage: Stage, desk: Desk = {}) {
  const { variables = {}, folder = cloneFolder() } = desk;
  const [, path = ''] = lookAround(stage.cluster);
  const programs = [...(desk.programs ?? []), ...(/PATH='?([^:']+)/.exec(path)?.slice(1) ?? [])];
  const type = typistOn(stage.cluster, { folder, programs, variables });
  return followTutorial(page, { folder, type });
}

/** The account that a reader of a later tutorial has from the first one. */
async function makeAccount({ cluster }: Stage): Promise<void> {
  await applySample(cluster, 'account.yaml', { pollInterval: '1s' });
  const ready = ['wait', 'gpuacct/default', '--for=condition=Ready', '--timeout=1m'];
  await cluster.kubectl([...ready, '--namespace', DEMO_NAMESPACE]);
}

const quiet = { tell: () => {}, signal: new AbortController().signal };
const isBorrowed = inject('cluster').source === 'existing-cluster';

// An operator of its own would meet that of the cluster, whose identity it has.
test.skipIf(isBorrowed)(
  'the tutorial of the playground works as it is written',
  async () => {
    const playground = startPlayground({ PLAYGROUND_NODE: 'false' });
    const printed = await commandsOf(playground);
    const exported = Object.fromEntries(
      printed.flatMap((line) => {
        const [, name, value = ''] = /^export (\w+)=(.*)$/.exec(line) ?? [];
        return name ? [[name, value.replaceAll("'", '')]] : [];
      }),
    );
    const { CONTROL: control = '', GPU_RENT_URL = '', GPU_RENT_API_KEY = '' } = exported;
    const folder = cloneFolder();
    mkdirSync(join(folder, 'home'));
    const [programs = ''] = exported['PATH']?.split(':') ?? [];
    const cluster = { kubectlPath: 'kubectl', kubeconfigPath: exported['KUBECONFIG'] ?? '', folder };
    const variables = { CONTROL: control, GPU_RENT_URL, GPU_RENT_API_KEY };
    const type = typistOn(cluster, { folder, programs: [programs], variables });
    const steps = await followTutorial('docs/tutorials/playground.md', { folder, type });
    const under = (heading: string) => steps.filter((step) => step.heading === heading);
    expect(under('2. Rent a machine').at(-1)?.printed).toMatch(/^trainer +Running/m);
    expect(under('4. Lose the machine').at(-1)?.printed).toContain('Vanished');
    expect(under('5. What it costs')[0]?.printed).toContain('"billing":2');
    expect(await readLedger(control)).toMatchObject({ billing: 0 });
  },
  2 * READY_MS,
);

test.skipIf(isBorrowed)(
  'the tutorial of fine-tuning works as it is written, and no machine is left',
  async () => {
    const stage = await setStage(quiet);
    undo.push(() => stage.dismantle());
    await makeAccount(stage);
    await follow('docs/tutorials/fine-tuning.md', stage);
    const { billing, contracts } = await readLedger(stage.controlUrl);
    expect({ billing, rented: contracts.length }).toEqual({ billing: 0, rented: 2 });
  },
  READY_MS,
);

test.skipIf(isBorrowed)(
  'the tutorial of vLLM works as it is written, from zero to zero',
  async () => {
    const ports = { gateway: await findFreePort(), reports: await findFreePort() };
    const envoy = await envoyBinary();
    const stage = await setStage({
      ...quiet,
      openMarketplace: (logFolder) => openChatSimulator(logFolder, 3),
      operatorFlags: [
        ...['--scaling-speed', '60', '--metrics-bind-address', `127.0.0.1:${ports.reports}`],
        ...['--gateway-reports', 'unauthenticated', '--gateway-url', `http://127.0.0.1:${ports.gateway}`],
      ],
    });
    undo.push(() => stage.dismantle());
    await makeAccount(stage);
    const operatorUrl = `http://127.0.0.1:${ports.reports}`;
    const picker = await startPicker({ stage, envoy, port: ports.gateway, operatorUrl });
    undo.push(() => picker.stop());
    const variables = { GATEWAY: `http://127.0.0.1:${ports.gateway}` };
    const steps = await follow('docs/tutorials/vllm.md', stage, { variables });
    expect(steps.find(({ heading }) => heading === '3. The first request')?.printed).toContain('word0 word1');
    const { billing, contracts } = await readLedger(stage.controlUrl);
    expect(billing).toBe(0);
    expect(contracts.length).toBeGreaterThan(0);
  },
  2 * READY_MS,
);

/** An `ssh` that finds every machine at the real SSH server of this one, as if it had been rented. */
function sshTo({ port, identity }: SshMachine, folder: string): string {
  const programs = join(folder, 'ssh-programs');
  mkdirSync(programs);
  const options = `-p ${port} -o HostName=127.0.0.1 -i '${identity}'`;
  writeFileSync(join(programs, 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh ${options} "$@"\n`, { mode: 0o755 });
  return programs;
}

test.skipIf(isBorrowed || SSHD === undefined)(
  'the tutorial of the SSH machine works as it is written',
  async () => {
    let market: Marketplace | undefined;
    const stage = await setStage({
      ...quiet,
      openMarketplace: async (logFolder) => {
        market = await openSimulator(logFolder, '--no-rate-limits');
        return market;
      },
    });
    undo.push(() => stage.dismantle());
    await makeAccount(stage);
    const machine = await sshMachine();
    undo.push(() => machine.close());
    const folder = cloneFolder();
    writeFileSync(join(folder, 'my-key.txt'), market?.apiKey ?? '');
    const desk = {
      folder,
      programs: [sshTo(machine, folder)],
      variables: { GPU_RENT_URL: market?.url ?? '' },
    };
    const steps = await follow('docs/tutorials/ssh-machine.md', stage, desk);
    const shell = steps.find(({ heading }) => heading === '3. A shell, and files')?.printed;
    expect(shell).toMatch(/^Linux /m);
    expect(shell).toContain('print("hello")');
    expect(await readLedger(stage.controlUrl)).toMatchObject({ billing: 0 });
  },
  READY_MS,
);
