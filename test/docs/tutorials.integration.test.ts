import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { lookAround } from '../../scripts/demo/look-around.ts';
import { startPicker } from '../../scripts/demo/picker-process.ts';
import {
  type Marketplace,
  openChatSimulator,
  openDeadmanMarket,
  openSimulator,
  type SecureMarketplace,
} from '../../scripts/demo/simulator.ts';
import { readLedger } from '../../scripts/demo/simulator-control.ts';
import { applySample, DEMO_NAMESPACE, type Stage, setStage } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { SSHD, type SshMachine, sshMachine } from '../builders/ssh-machine.ts';
import { until } from '../builders/until.ts';
import { findFreePort } from '../cluster/free-port.ts';
import type {} from '../cluster/provided-context.ts';
import { commandsOf, endPlaygrounds, READY_MS, startPlayground } from '../demo/playground-process.ts';
import { envoyBinary } from '../tools/envoy.ts';
import { shownAndPrinted } from './shown-output.ts';
import { followTutorial, type TutorialReader } from './tutorial.ts';
import { typistOn } from './typist.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  await endPlaygrounds();
});

/** Creates a folder that looks like a clone of the repository. */
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
  readonly afterTyping?: TutorialReader['afterTyping'];
}

async function follow(page: string, stage: Stage, desk: Desk = {}) {
  const { variables = {}, folder = cloneFolder() } = desk;
  const [, path = ''] = lookAround(stage.cluster);
  const programs = [...(desk.programs ?? []), ...(/PATH='?([^:']+)/.exec(path)?.slice(1) ?? [])];
  const type = typistOn(stage.cluster, { folder, programs, variables });
  const { afterTyping } = desk;
  return followTutorial(page, { folder, type, ...(afterTyping && { afterTyping }) });
}

/** Creates the account that a reader of a later tutorial has from the first one. */
async function makeAccount({ cluster }: Stage): Promise<void> {
  await applySample(cluster, 'account.yaml', { pollInterval: '1s' });
  const ready = ['wait', 'gpuacct/default', '--for=condition=Ready', '--timeout=1m'];
  await cluster.kubectl([...ready, '--namespace', DEMO_NAMESPACE]);
}

const quiet = { tell: () => {}, signal: new AbortController().signal };
const isBorrowed = inject('cluster').source === 'existing-cluster';

/** Variables that a file for `source` exports, PATH apart. */
function exportedBy(sourceLine: string): Readonly<Record<string, string>> {
  const file = readFileSync(sourceLine.replace(/^source /, ''), 'utf8');
  const lines = [...file.matchAll(/^export (\w+)='(.*)'$/gm)];
  return Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]));
}

// An operator of its own would meet that of the cluster, whose identity it has.
test.skipIf(isBorrowed || SSHD === undefined)(
  'the tutorial of the playground works as it is written, and shows what is printed',
  async () => {
    const page = 'docs/tutorials/playground.md';
    const playground = startPlayground({ PLAYGROUND_NODE: 'false' });
    const [source = ''] = await commandsOf(playground);
    const { KUBECONFIG = '', ...variables } = exportedBy(source);
    const folder = cloneFolder();
    mkdirSync(join(folder, 'home'));
    const own = dirname(KUBECONFIG);
    const cluster = { kubectlPath: 'kubectl', kubeconfigPath: KUBECONFIG, folder };
    const type = typistOn(cluster, { folder, programs: [join(own, 'bin')], variables });
    const steps = await followTutorial(page, { folder, type });
    const under = (heading: string) => steps.filter((step) => step.heading === heading);
    expect(under('2. Rent a machine').at(-1)?.printed).toMatch(/^trainer +Running/m);
    expect(shownAndPrinted(page, steps)).toEqual([]);
    expect(under('4. Lose the machine').at(-1)?.printed).toContain('Vanished');
    expect(under('5. What it costs')[0]?.printed).toContain('"billing":2');
    expect(under('6. Work on a machine')[0]?.printed).toMatch(/^Linux /m);
    expect(under('7. A request wakes a group')[0]?.printed).toContain('word0 word1 word2');
    expect(await readLedger(variables.CONTROL ?? '')).toMatchObject({ billing: 0 });
  },
  2 * READY_MS,
);

test.skipIf(isBorrowed)(
  'the tutorial of a batch job works as it is written, shows what is printed, and no machine is left',
  async () => {
    const page = 'docs/tutorials/batch-job.md';
    let market: SecureMarketplace | undefined;
    const authority = () => ({ NODE_EXTRA_CA_CERTS: market?.ca ?? '' });
    const stage = await setStage({
      ...quiet,
      openMarketplace: async (logFolder) => (market = await openDeadmanMarket(logFolder)),
      operatorProcess: () => ({ env: authority() }),
    });
    undo.push(() => stage.dismantle());
    await makeAccount(stage);
    const steps = await follow(page, stage, { variables: authority() });
    expect(shownAndPrinted(page, steps)).toEqual([]);
    const { billing, contracts } = await readLedger(stage.controlUrl);
    expect({ billing, rented: contracts.length }).toEqual({ billing: 0, rented: 3 });
  },
  READY_MS,
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

/** B09: the gateway serves the key of the tutorial as it is typed there, and refuses callers without one. */
async function onlyKeysAreServed(gateway: string, commands: string): Promise<void> {
  const key = /^KEY=(.*)$/m.exec(commands)?.[1] ?? '';
  const ask = async (headers: Readonly<Record<string, string>>) => {
    const body = JSON.stringify({ model: 'x', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] });
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
    const reply = await fetch(`${gateway}/default/llm/v1/chat/completions`, init);
    await reply.arrayBuffer();
    return reply.status;
  };
  await until('callers without a key are refused', async () => (await ask({})) === 401);
  expect(await ask({ authorization: `Bearer ${key}` })).toBe(200);
  expect(await ask({ authorization: 'Bearer another' })).toBe(401);
}

test.skipIf(isBorrowed)(
  'B09: the tutorial of vLLM works as it is written, from zero to zero',
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
    const gateway = `http://127.0.0.1:${ports.gateway}`;
    const typed: string[] = [];
    const steps = await follow('docs/tutorials/vllm.md', stage, {
      variables: { GATEWAY: gateway },
      afterTyping: async (commands) => {
        typed.push(commands);
        if (commands.includes('llm-callers"}')) await onlyKeysAreServed(gateway, commands);
      },
    });
    expect(typed.some((commands) => commands.includes('Authorization: Bearer'))).toBe(true);
    expect(steps.find(({ heading }) => heading === '4. Who may call the model')?.printed).toContain(
      'word0 word1',
    );
    expect(steps.find(({ heading }) => heading === '3. The first request')?.printed).toContain('word0 word1');
    const { billing, contracts } = await readLedger(stage.controlUrl);
    expect(billing).toBe(0);
    expect(contracts.length).toBeGreaterThan(0);
  },
  2 * READY_MS,
);

/** Returns an `ssh` that connects to this machine's real SSH server instead of any rented machine. */
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
