/**
 * `make release-rehearsal`: every command of the release workflow that needs no service, on a registry and with a key
 * of its own; then what was released is installed from there. Two at once do not meet, and nothing is left behind.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { endWith, interruption, reasonOf, untilInterrupted } from './demo/ending.ts';
import { findPrograms, program } from './release/programs.ts';
import { readPublished } from './release/record.ts';
import { installReleased } from './release/rehearsal/installation.ts';
import { tryPackage } from './release/rehearsal/package.ts';
import { makeKeys, rehearsalEnvironment, startRegistry } from './release/rehearsal/setting.ts';
import { copySources } from './release/rehearsal/sources.ts';
import { openWorkplace, type Workplace } from './release/rehearsal/workplace.ts';
import { releaseSettings } from './release/settings.ts';
import { rehearsedCommands } from './release/workflow.ts';

const repository = join(import.meta.dirname, '..');
const { version } = packageJson;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const signal = interruption(() => say('Stopping the rehearsal'));

/** Runs a step and prints one line with its duration and result; a failure gets the name of the step. */
async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    signal.throwIfAborted();
    const result = await Promise.race([work(), untilInterrupted(signal)]);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    say(`${name}: ${seconds} s${typeof result === 'string' ? `, ${result}` : ''}`);
    return result;
  } catch (error) {
    throw new Error(`${name}: ${reasonOf(error, signal)}`);
  }
}

async function rehearse(workplace: Workplace) {
  const { folder } = workplace;
  const paths = await step('tools', () => findPrograms(process.env));
  const common = rehearsalEnvironment(process.env, { folder, repository });
  const host = await step('registry', () => startRegistry(workplace, paths.crane, common));
  const keys = join(folder, 'keys');
  await step('keys', () => makeKeys(workplace, paths.cosign, { folder: keys, env: common }));
  const env = {
    ...common,
    RELEASE_TAG: `v${version}`,
    RELEASE_REGISTRY: `${host}/gpu-rental-operator`,
    RELEASE_SIGNING_FOLDER: keys,
  };
  for (const { job, command } of rehearsedCommands(repository)) {
    const checkout = checkoutOf(folder, job);
    if (!existsSync(checkout)) copySources(repository, checkout);
    // As GitHub runs it.
    const shell = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', command] as const;
    await step(command, async () => lastLine(await workplace.run(shell, { cwd: checkout, env })));
  }
  const published = join(checkoutOf(folder, 'npm'), 'dist/package');
  await step('npm package', () => tryPackage(workplace, { published, version, env }));
  const settings = releaseSettings(env, version);
  const { image, charts } = readPublished(checkoutOf(folder, 'registry'));
  const helm = program('helm', paths.helm, env);
  const crane = program('crane', paths.crane, env);
  await step('installation', () =>
    installReleased({ settings, digest: image.digest, repository, helm, crane }),
  );
  return {
    version,
    image: image.digest,
    charts: Object.fromEntries(charts.map(({ name, digest }) => [name, digest])),
  };
}

/** Returns the checkout of a job: each job of the workflow has its own. */
const checkoutOf = (folder: string, job: string): string => join(folder, 'checkouts', job);

const lastLine = (output: string): string => output.trimEnd().split('\n').at(-1) ?? '';

async function main(): Promise<void> {
  const startedAt = performance.now();
  const workplace = openWorkplace(signal);
  try {
    const released = await rehearse(workplace);
    await workplace.close();
    endWith({ result: 'ok', ...released, seconds: Math.round((performance.now() - startedAt) / 1000) });
  } catch (error) {
    await workplace.close();
    const result = error instanceof Error ? error.message : String(error);
    process.stderr.write(`make release-rehearsal: ${result}\n`);
    endWith({ result });
  }
}

await main();
