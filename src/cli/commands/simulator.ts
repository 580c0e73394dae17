import { createSimulator, type SimulatorOptions } from '../../simulator/simulator.ts';
import type { Command, CommandContext, OptionValues } from '../command.ts';

/** Flags of `gpu-rent simulator`, parsed. */
export interface SimulatorFlags {
  readonly port: number;
  readonly profile: 'specification' | 'public';
  readonly seed: number;
  readonly timeScale: number;
  readonly apiKey?: string;
  readonly control: boolean;
  readonly data?: string;
  readonly bootScale?: number;
  readonly listLag?: number;
  readonly offers?: number;
  /** Listen on loopback for the ports of running machines. */
  readonly serveMachines?: boolean;
  /** False switches rate limits off. */
  readonly rateLimits: boolean;
}

/** A usage error: exit code 2. */
class UsageError extends Error {
  readonly exitCode = 2;
}

export const simulatorCommand: Command = {
  name: 'simulator',
  summary: 'Run a whole marketplace on loopback, with time, money and faults.',
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
    { flags: '--time-scale <factor>', description: 'Simulated seconds per second.', defaultValue: '1' },
    { flags: '--api-key <key>', description: 'Key of the first user; drawn when absent.' },
    { flags: '--control', description: 'Serve /sim/: clock, outbox, ledger, faults, world.' },
    { flags: '--data <file>', description: 'Keep the world in this SQLite file.' },
    { flags: '--boot-scale <factor>', description: 'Multiplies boot times; 0.01 boots in seconds.' },
    { flags: '--list-lag <seconds>', description: 'Seconds for which lists do not show a new contract.' },
    { flags: '--offers <count>', description: 'Number of offers in the catalog.' },
    {
      flags: '--serve-machines',
      description: 'Answer on 127.0.0.1 at the ports of running machines (map 203.0.113.0/24 to it).',
    },
    { flags: '--no-rate-limits', description: 'Do not refuse calls that come too quickly.' },
  ],
  run: (input, context) => runSimulator(readFlags(input.options), context),
};

/** Serves until the context is aborted; resolves to the exit code. */
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
    const listening = await simulator.listen(flags.port);
    const control = flags.control ? `${listening.url}/sim` : null;
    context.stdout.write(`${JSON.stringify({ url: listening.url, apiKey: simulator.apiKey, control })}\n`);
    await aborted(context.signal);
    await listening.close();
    return 0;
  } finally {
    file?.close();
  }
}

/** Loaded only where a file is asked for: SQLite costs start-up time. */
async function openFile(path: string) {
  const { openWorldFile } = await import('../../simulator/world-file.ts');
  try {
    return openWorldFile(path);
  } catch (error) {
    throw new UsageError(`--data: cannot open ${path} as a SQLite file: ${(error as Error).message}`);
  }
}

function optionsOf(flags: SimulatorFlags): SimulatorOptions {
  return {
    profile: flags.profile,
    seed: flags.seed,
    timeScale: flags.timeScale,
    control: flags.control,
    machineServer: flags.serveMachines === true,
    ...(flags.apiKey === undefined ? {} : { apiKey: flags.apiKey }),
    ...(flags.offers === undefined ? {} : { catalog: flags.offers }),
    settings: {
      ...(flags.bootScale === undefined ? {} : { boot: { scale: flags.bootScale } }),
      ...(flags.listLag === undefined ? {} : { lists: { lagSeconds: flags.listLag } }),
      ...(flags.rateLimits ? {} : { pauses: { scale: 0 } }),
    },
  };
}

/** Flags from commander's strings; a value that is no number names its flag. */
export function readFlags(options: OptionValues): SimulatorFlags {
  const number = (name: string, flag: string, fallback?: number): number | undefined => {
    const value = options[name];
    if (value === undefined) return fallback;
    const parsed = Number(value);
    if (typeof value === 'boolean' || value === '' || !Number.isFinite(parsed) || parsed < 0) {
      throw new UsageError(`${flag}: "${String(value)}" is not a number of 0 or more.`);
    }
    return parsed;
  };
  const profile = options.profile ?? 'public';
  if (profile !== 'public' && profile !== 'specification') {
    throw new UsageError(`--profile: "${String(profile)}" is neither public nor specification.`);
  }
  return withoutUndefined({
    port: number('port', '--port', 0),
    profile,
    seed: number('seed', '--seed', 1),
    timeScale: number('timeScale', '--time-scale', 1),
    apiKey: typeof options.apiKey === 'string' ? options.apiKey : undefined,
    control: options.control === true,
    data: typeof options.data === 'string' ? options.data : undefined,
    bootScale: number('bootScale', '--boot-scale'),
    listLag: number('listLag', '--list-lag'),
    offers: number('offers', '--offers'),
    serveMachines: options.serveMachines === true,
    rateLimits: options.rateLimits !== false,
  }) as unknown as SimulatorFlags;
}

function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
