/**
 * `make demo-deadman`: machines that end themselves, in two worlds of real processes. In one, operator, API server and etcd
 * are killed and their data is deleted. In the other the operator is away for less than three quarters of a lease.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findIsolation } from '../src/simulator/machines/isolation.ts';
import { createFolders } from '../src/simulator/machines/machine-folder.ts';
import { fastPrograms, HAS_SSH, type MachinePrograms } from './demo/deadman-machines.ts';
import { DeadmanWorld, type WorldOutcome } from './demo/deadman-story.ts';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { plainView } from './demo/live-view.ts';
import { openDeadmanMarket, type SecureMarketplace } from './demo/simulator.ts';
import { type Stage, setStage } from './demo/stage.ts';

/** Seconds that a machine counts in one: a lease of half an hour is over after two and a half minutes. */
const SPEED = 12;
const REPOSITORY = join(import.meta.dirname, '..');
const FAST_LEASES = join(import.meta.dirname, 'demo', 'fast-leases.ts');
const PAGE = 'docs/concepts/what-ends-the-bill.md';
/** Rows of the page that the demo shows. */
const SHOWN = [
  'The operator is down, or the cluster is erased: maxLifetime ends a machine 10 minutes of running later,',
  'and an armed lease ends it lease.duration after the last renewal.',
  'The operator is down for less than three quarters of the lease: no machine ends.',
];

const view = plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

interface Outcome extends WorldOutcome {
  readonly worlds: number;
  /** Absent after a success. */
  readonly result?: string;
}

const NOTHING: WorldOutcome = {
  endedByThemselves: 0,
  falseKills: 0,
  maxBillAfterDeathSeconds: 0,
  billing: 0,
};

/** Throws if machines would share the files of their fuses. */
function requireNamespaces(): void {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-probe-'));
  try {
    createFolders(folder);
    const { problem } = findIsolation(folder);
    if (problem !== undefined)
      throw new Error(
        `machines need a /var/tmp of their own, and unshare (util-linux, on Linux) says: ${problem}`,
      );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openWorld(name: string): Promise<Stage> {
  let marketplace: SecureMarketplace | undefined;
  return setStage({
    // A server that ends is reported with its last lines.
    tell: (line) => view.say(`${name}: ${line.split(' Its last lines:')[0]}`),
    ...{ signal, own: true },
    openMarketplace: async (logFolder) => (marketplace = await openDeadmanMarket(logFolder)),
    // An operator that was killed holds its lease for a while.
    operatorFlags: ['--leader-elect=false'],
    operatorProcess: () => ({
      preload: FAST_LEASES,
      env: { NODE_EXTRA_CA_CERTS: marketplace?.ca ?? '', DEMO_SPEED: String(SPEED) },
    }),
  });
}

function worldOf(stage: Stage, name: string, programs: MachinePrograms): DeadmanWorld {
  const say = (text: string): void => view.say(`${name}: ${text}`);
  return new DeadmanWorld({ ...{ stage, programs, signal, speed: SPEED }, view: { say } });
}

function sum(outcomes: readonly WorldOutcome[]): WorldOutcome {
  return outcomes.reduce(
    (all, one) => ({
      endedByThemselves: all.endedByThemselves + one.endedByThemselves,
      falseKills: all.falseKills + one.falseKills,
      maxBillAfterDeathSeconds: Math.max(all.maxBillAfterDeathSeconds, one.maxBillAfterDeathSeconds),
      billing: all.billing + one.billing,
    }),
    NOTHING,
  );
}

async function play(programs: MachinePrograms, stages: Stage[]): Promise<Outcome> {
  requireNamespaces();
  view.say(`What ends the bill (${PAGE}):`);
  for (const line of SHOWN) view.say(`  ${line}`);
  view.say(
    `Machines count ${SPEED} seconds in each second, and the operator renews their leases accordingly.`,
  );
  if (!HAS_SSH)
    view.say('Without leases: those need Linux, root and an SSH server (apt-get install openssh-server).');
  for (const name of ['away', 'erased']) stages.push(await openWorld(name));
  const [away, erased] = stages;
  if (!away || !erased) throw new Error('a world has no stage');
  view.heading('Both worlds rent machines. Then one operator is away, and one cluster is erased');
  const outcomes = await Promise.all([
    worldOf(away, 'away', programs).away(),
    worldOf(erased, 'erased', programs).erased(),
  ]);
  return { worlds: outcomes.length, ...sum(outcomes) };
}

/** Returns why the outcome is no success; undefined for a success. */
function problemOf({ endedByThemselves, falseKills, billing }: WorldOutcome): string | undefined {
  if (falseKills > 0) return `${falseKills} machines ended without a reason`;
  if (billing > 0) return `${billing} machines still bill`;
  return endedByThemselves === 0 ? 'no machine ended itself' : undefined;
}

async function main(): Promise<Outcome> {
  view.heading('Setting up: two Kubernetes APIs, each with a simulated marketplace and an operator');
  const stages: Stage[] = [];
  const programs = fastPrograms(REPOSITORY, SPEED);
  try {
    const outcome = await play(programs, stages);
    view.heading(`${outcome.endedByThemselves} machines of the erased cluster ended themselves`);
    const result = problemOf(outcome);
    return result === undefined ? outcome : { ...outcome, result };
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return { worlds: 0, ...NOTHING, result };
  } finally {
    for (const stage of stages) await stage.dismantle();
    programs.remove();
  }
}

endWith(await main());
