import type { Profile } from '../../simulator/calls/route.ts';
import { createSimulator, type SimulatorOptions } from '../../simulator/simulator.ts';
import type { WorldFile } from '../../simulator/world/world-file.ts';
import type { Command, CommandContext, OptionValues } from '../command.ts';
import { failed, usageError } from '../failures/command-error.ts';
import { numberOption, switchOption, textOption } from '../options/option-values.ts';

/** Flags of `gpu-rent simulator`, parsed. */
export interface SimulatorFlags {
  readonly port: number;
  readonly profile: Profile;
  readonly seed: number;
  readonly timeScale: number;
  readonly apiKey: string | undefined;
  readonly control: boolean;
  readonly data: string | undefined;
  readonly bootScale: number | undefined;
  readonly listLag: number | undefined;
  readonly offers: number | undefined;
  /** Listen on loopback for the ports of running machines. */
  readonly serveMachines: boolean;
  /** False switches rate limits off. */
  readonly rateLimits: boolean;
}

export const simulatorCommand: Command = {
  description:
    'Prints one JSON line {"url","apiKey","control"} when ready and runs until Ctrl-C. No request leaves this machine and nothing costs money.',
  examples: [
    'gpu-rent simulator --port 8088 --control',
    'gpu-rent simulator --time-scale 60 --data market.db',
    'gpu-rent simulator --profile specification --seed 7',
  ],
  options: [
    { flags: '--port <port>', description: 'Port on 127.0.0.1; 0 picks a free one.', defaultValue: '0' },
    {
      flags: '--profile <profile>',
      description: 'What replies look like: as the public service answers, or only what is specified.',
      defaultValue: 'public',
      choices: ['public', 'specification'],
    },
    { flags: '--seed <number>', description: 'Seed of catalog, boot times and chances.', defaultValue: '1' },
    {
      flags: '--time-scale <factor>',
      description: 'Simulated seconds per second, at most 1000000.',
      defaultValue: '1',
    },
    { flags: '--api-key <key>', description: 'Key of the first user; drawn when absent.' },
    { flags: '--control', description: 'Serve /sim/: clock, outbox, ledger, faults, world.' },
    { flags: '--data <file>', description: 'Keep the world in this SQLite file.' },
    { flags: '--boot-scale <factor>', description: 'Multiplies boot times; 0.01 boots in seconds.' },
    { flags: '--list-lag <seconds>', description: 'Seconds for which lists do not show a new contract.' },
    { flags: '--offers <count>', description: 'Number of offers in the catalog, at most 100000.' },
    {
      flags: '--serve-machines',
      description: 'Answer on 127.0.0.1 at the ports of running machines (map 203.0.113.0/24 to it).',
    },
    { flags: '--no-rate-limits', description: 'Do not refuse calls that come too quickly.' },
  ],
  run: (input, context) => runSimulator(readFlags(input.options), context),
};

/**
 * Serves until the context is aborted; resolves to the exit code. Rejects with a usage error if the file or the port
 * cannot be used.
 */
export async function runSimulator(
  flags: SimulatorFlags,
  context: Pick<CommandContext, 'stdout' | 'stderr' | 'signal'>,
): Promise<number> {
  const file = flags.data === undefined ? undefined : await openFile(flags.data);
  const simulator = createSimulator({
    ...optionsOf(flags),
    ...(file ? { file } : {}),
    onError: (error) =>
      context.stderr.write(`simulator: ${error instanceof Error ? error.stack : String(error)}\n`),
  });
  try {
    const listening = await simulator.listen(flags.port).catch(refusedPort(flags.port));
    const control = flags.control ? `${listening.url}/sim` : null;
    context.stdout.write(`${JSON.stringify({ url: listening.url, apiKey: simulator.apiKey, control })}\n`);
    await aborted(context.signal);
    await listening.close();
    return 0;
  } finally {
    file?.close();
  }
}

/** Loaded only if a file is named: SQLite costs start-up time. */
async function openFile(path: string): Promise<WorldFile> {
  const { openWorldFile } = await import('../../simulator/world/world-file.ts');
  try {
    return openWorldFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const remedy =
      'Name a file of its own for this simulator, in an existing folder; the file is created if it is missing.';
    throw failed(`--data: cannot keep a world in ${path}: ${why}.`, remedy, error);
  }
}

/** A port that cannot be had, in words that say which and what to do. */
function refusedPort(port: number): (error: unknown) => never {
  return (error) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const remedy = 'Choose another port, or 0 for a free one.';
    if (code === 'EADDRINUSE') throw failed(`--port: ${port} on 127.0.0.1 is in use.`, remedy, error);
    if (code === 'EACCES') throw failed(`--port: this user may not listen on ${port}.`, remedy, error);
    throw error;
  };
}

function optionsOf(flags: SimulatorFlags): SimulatorOptions {
  return {
    profile: flags.profile,
    seed: flags.seed,
    timeScale: flags.timeScale,
    control: flags.control,
    machineServer: flags.serveMachines,
    ...(flags.apiKey === undefined ? {} : { apiKey: flags.apiKey }),
    ...(flags.offers === undefined ? {} : { catalog: flags.offers }),
    settings: {
      ...(flags.bootScale === undefined ? {} : { boot: { scale: flags.bootScale } }),
      ...(flags.listLag === undefined ? {} : { lists: { lagSeconds: flags.listLag } }),
      ...(flags.rateLimits ? {} : { pauses: { scale: 0 } }),
    },
  };
}

/** As many offers as a process holds in some 300 MB; many more end it. */
const MAX_OFFERS = 100_000;

/** Eleven days a second; a process that runs for a month stays before the year 9999, which HTTP dates end with. */
const FASTEST = 1_000_000;

/** Flags from commander's strings; a value that cannot be used names its flag and what it takes. */
export function readFlags(options: OptionValues): SimulatorFlags {
  const atLeast0 = (flag: string): number | undefined => numberOption(options, flag, { min: 0 });
  return {
    port: numberOption(options, '--port', { min: 0, max: 65_535, whole: true }) ?? 0,
    profile: readProfile(options),
    seed: numberOption(options, '--seed', { min: 0, whole: true }) ?? 1,
    timeScale: numberOption(options, '--time-scale', { min: 0, max: FASTEST }) ?? 1,
    apiKey: readKey(options),
    control: switchOption(options, '--control'),
    data: textOption(options, '--data'),
    bootScale: atLeast0('--boot-scale'),
    listLag: atLeast0('--list-lag'),
    offers: numberOption(options, '--offers', { min: 1, max: MAX_OFFERS, whole: true }),
    serveMachines: switchOption(options, '--serve-machines'),
    rateLimits: options.rateLimits !== false,
  };
}

function readProfile(options: OptionValues): Profile {
  const profile = textOption(options, '--profile') ?? 'public';
  if (profile === 'public' || profile === 'specification') return profile;
  throw usageError(`--profile: "${profile}" is neither public nor specification.`);
}

function readKey(options: OptionValues): string | undefined {
  const key = textOption(options, '--api-key');
  if (key === undefined || /^\S+$/.test(key)) return key;
  throw usageError(
    '--api-key: a key has at least one character and no spaces.',
    'Leave it out to have one drawn.',
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
