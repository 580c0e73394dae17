import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import { untilAborted } from '../../runtime/first-abort.ts';
import { isLoopback } from '../../simulator/addresses.ts';
import type { Profile } from '../../simulator/calls/route.ts';
import type { Listening, ListenOptions } from '../../simulator/http-server.ts';
import { createSimulator, type SimulatorOptions } from '../../simulator/simulator.ts';
import type { WorldFile } from '../../simulator/world/world-file.ts';
import type { Command, CommandContext, OptionValues } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { numberOption, switchOption, textOption } from '../option-values.ts';
import {
  type CertificateFiles,
  issueIdentity,
  readCertificate,
  renewCertificate,
  type ServedIdentity,
} from './simulator-certificate.ts';

/** Flags of `gpu-rent simulator`, parsed. */
export interface SimulatorFlags {
  readonly port: number;
  readonly bindAddress: string;
  readonly certificateFiles: CertificateFiles | undefined;
  readonly profile: Profile;
  readonly seed: number;
  readonly timeScale: number;
  readonly apiKey: string | undefined;
  readonly control: boolean;
  readonly controlBindAddress: string | undefined;
  readonly controlPort: number | undefined;
  readonly data: string | undefined;
  readonly bootScale: number | undefined;
  readonly listLag: number | undefined;
  readonly offers: number | undefined;
  /** Also listen on the ports of running machines. */
  readonly serveMachines: boolean;
  /** Maximum machines that run as processes; undefined: machines are modelled. */
  readonly maxRunning: number | undefined;
  /** False disables rate limits. */
  readonly rateLimits: boolean;
}

const LOOPBACK = '127.0.0.1';
/** Default maximum of machines that run as processes. */
const MAX_RUNNING = 32;

export const simulatorCommand: Command = {
  description:
    'Prints one JSON line {"url","apiKey","control"} when ready, with "ca" if it issued its own certificate, and runs until Ctrl-C. It calls no other machine and costs no money.',
  examples: [
    'gpu-rent simulator --port 8088 --control',
    'gpu-rent simulator --time-scale 60 --data market.db',
    'gpu-rent simulator --run-machines --control --boot-scale 0.02',
    'gpu-rent simulator --profile specification --seed 7',
    'gpu-rent simulator --bind-address 0.0.0.0 --port 8443 --tls-cert-file tls.crt --tls-private-key-file tls.key',
  ],
  options: [
    {
      flags: '--port <port>',
      description: 'Port of the marketplace; 0 picks a free one.',
      defaultValue: '0',
    },
    {
      flags: '--bind-address <address>',
      description: 'IP address of this machine to listen on; 0.0.0.0 or :: for all of them.',
      defaultValue: LOOPBACK,
    },
    {
      flags: '--tls-cert-file <file>',
      description:
        'Serve https with this certificate (PEM, authorities after it); read again when it changes.',
    },
    { flags: '--tls-private-key-file <file>', description: 'Private key of the certificate (PEM).' },
    {
      flags: '--profile <profile>',
      description: 'Form of replies: those of the public service, or only the specified ones.',
      defaultValue: 'public',
      choices: ['public', 'specification'],
    },
    {
      flags: '--seed <number>',
      description: 'Seed of catalog, boot times and probabilities.',
      defaultValue: '1',
    },
    {
      flags: '--time-scale <factor>',
      description: 'Simulated seconds per second, at most 1000000.',
      defaultValue: '1',
    },
    { flags: '--api-key <key>', description: 'Key of the first user; random by default.' },
    { flags: '--control', description: 'Serve /sim/: clock, outbox, ledger, faults, world.' },
    {
      flags: '--control-bind-address <address>',
      description:
        'IP address of /sim/. It requires no key, so it listens on loopback unless another address is given.',
    },
    {
      flags: '--control-port <port>',
      description: 'Port of /sim/; the port of the marketplace if both are on one address, else a free one.',
    },
    { flags: '--data <file>', description: 'Keep the world in this SQLite file.' },
    { flags: '--boot-scale <factor>', description: 'Multiplies boot times; 0.01 boots in seconds.' },
    { flags: '--list-lag <seconds>', description: 'Seconds for which lists do not show a new contract.' },
    { flags: '--offers <count>', description: 'Number of offers in the catalog, at most 100000.' },
    {
      flags: '--serve-machines',
      description:
        'Answer at the ports of running machines, on the address of --bind-address (map 203.0.113.0/24 to it).',
    },
    {
      flags: '--run-machines',
      description:
        'Run what a machine starts as processes of this user, and serve https. Only on a loopback address.',
    },
    {
      flags: '--max-machines <count>',
      description: 'Maximum rented machines with --run-machines.',
      defaultValue: String(MAX_RUNNING),
    },
    { flags: '--no-rate-limits', description: 'Disable rate limits.' },
  ],
  run: (input, context) => runSimulator(readFlags(input.options), context),
};

/**
 * Serves until the context is aborted; resolves to the exit code. Rejects with a usage error if a file, the address or
 * the port cannot be used.
 */
export async function runSimulator(
  flags: SimulatorFlags,
  context: Pick<CommandContext, 'stdout' | 'stderr' | 'signal'>,
): Promise<number> {
  const identity = await readIdentity(flags);
  try {
    return await serveMarket(flags, identity, context);
  } finally {
    identity?.issued?.remove();
  }
}

async function serveMarket(
  flags: SimulatorFlags,
  identity: ServedIdentity | undefined,
  context: Pick<CommandContext, 'stdout' | 'stderr' | 'signal'>,
): Promise<number> {
  const report = (text: string): unknown => context.stderr.write(`simulator: ${text}\n`);
  const file = flags.data === undefined ? undefined : await openFile(flags.data);
  const simulator = createSimulator({
    ...optionsOf(flags),
    ...runOptions(flags, identity, report),
    ...(file ? { file } : {}),
    onError: (error) => report(error instanceof Error ? (error.stack ?? error.message) : String(error)),
  });
  try {
    const where = { ...placeOf(flags), certificate: identity?.certificate };
    const listening = await simulator.listen(where).catch(refusedPlace(flags));
    const stopRenewal = renewal(flags, where, { listening, report });
    const { url, controlUrl: control } = listening;
    const ca = identity?.issued && { ca: identity.issued.path };
    context.stdout.write(`${JSON.stringify({ url, apiKey: simulator.apiKey, control, ...ca })}\n`);
    await untilAborted(context.signal);
    stopRenewal();
    await listening.close();
    return 0;
  } finally {
    file?.close();
  }
}

/** Returns the certificate of the marketplace; undefined for plain http. */
async function readIdentity(flags: SimulatorFlags): Promise<ServedIdentity | undefined> {
  if (flags.certificateFiles) {
    const certificate = readCertificate(flags.certificateFiles);
    return { certificate, authorities: certificate.cert, issued: undefined };
  }
  return flags.maxRunning === undefined ? undefined : issueIdentity([flags.bindAddress, 'localhost']);
}

function runOptions(
  { maxRunning: max }: SimulatorFlags,
  identity: ServedIdentity | undefined,
  report: (text: string) => unknown,
): Pick<SimulatorOptions, 'runMachines'> {
  if (max === undefined || !identity) return {};
  const certificates = [identity.authorities, ...rootCertificates].join('\n');
  return { runMachines: { max, certificates, report } };
}

function placeOf(flags: SimulatorFlags): ListenOptions {
  const { port, bindAddress: host, controlBindAddress, controlPort } = flags;
  return { port, host, control: { host: controlBindAddress, port: controlPort } };
}

function renewal(
  { certificateFiles: files }: SimulatorFlags,
  { certificate }: ListenOptions,
  { listening, report }: { readonly listening: Listening; readonly report: (text: string) => unknown },
): () => void {
  if (!files || !certificate) return () => undefined;
  return renewCertificate({
    files,
    current: certificate,
    replace: (changed) => listening.replaceCertificate(changed),
    onProblem: (problem) => report(`${problem} The certificate that it read before stays in use.`),
  });
}

/** Loads SQLite only if a file is named: it costs start-up time. */
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

const FAMILY_REMEDY =
  'Name an address of this machine: 127.0.0.1, ::1, 0.0.0.0 or :: for all, or one of `ip address`.';

/** Returns the error of an address or port that cannot be used, with the flag and a remedy. */
function refusedPlace(flags: SimulatorFlags): (error: unknown) => never {
  return (error) => {
    const { code, address, port } = (error instanceof Error ? error : {}) as NodeJS.ErrnoException & {
      readonly address?: string;
      readonly port?: number;
    };
    // An error names no port if it was 0.
    const isMarket = address === flags.bindAddress && (port ?? 0) === flags.port;
    const prefix = isMarket ? '--' : '--control-';
    const remedy = 'Choose another port, or 0 for a free one.';
    if (code === 'EADDRINUSE') throw failed(`${prefix}port: ${port} on ${address} is in use.`, remedy, error);
    if (code === 'EACCES') throw failed(`${prefix}port: this user may not listen on ${port}.`, remedy, error);
    const flag = `${prefix}bind-address`;
    if (code === 'EADDRNOTAVAIL')
      throw failed(`${flag}: ${address} is not an address of this machine.`, FAMILY_REMEDY, error);
    if (code === 'EAFNOSUPPORT')
      throw failed(`${flag}: this machine does not use addresses such as ${address}.`, FAMILY_REMEDY, error);
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
      ...(flags.maxRunning === undefined ? {} : { limits: { machines: flags.maxRunning } }),
    },
  };
}

/** Maximum number of offers, some 300 MB of memory; many more would end the process. */
const MAX_OFFERS = 100_000;

/** Eleven days per second: a process that runs for a month stays before the year 9999, the last one in HTTP dates. */
const FASTEST = 1_000_000;

const PORTS = { min: 0, max: 65_535, whole: true };

/** Parses flags from commander's strings; an invalid value is reported with its flag and the accepted values. */
export function readFlags(options: OptionValues): SimulatorFlags {
  const atLeast0 = (flag: string): number | undefined => numberOption(options, flag, { min: 0 });
  return {
    port: numberOption(options, '--port', PORTS) ?? 0,
    bindAddress: readAddress(options, '--bind-address') ?? LOOPBACK,
    certificateFiles: readCertificateFiles(options),
    profile: readProfile(options),
    seed: numberOption(options, '--seed', { min: 0, whole: true }) ?? 1,
    timeScale: readTimeScale(options),
    apiKey: readKey(options),
    control: switchOption(options, '--control'),
    controlBindAddress: needsControl(
      options,
      '--control-bind-address',
      readAddress(options, '--control-bind-address'),
    ),
    controlPort: needsControl(options, '--control-port', numberOption(options, '--control-port', PORTS)),
    data: textOption(options, '--data'),
    bootScale: atLeast0('--boot-scale'),
    listLag: atLeast0('--list-lag'),
    offers: numberOption(options, '--offers', { min: 1, max: MAX_OFFERS, whole: true }),
    serveMachines: switchOption(options, '--serve-machines'),
    maxRunning: readMaxRunning(options),
    rateLimits: options.rateLimits !== false,
  };
}

/** Returns the maximum of running machines; undefined without `--run-machines`. */
function readMaxRunning(options: OptionValues): number | undefined {
  const max = numberOption(options, '--max-machines', { min: 1, max: 1000, whole: true }) ?? MAX_RUNNING;
  if (!switchOption(options, '--run-machines')) return undefined;
  const address = readAddress(options, '--bind-address') ?? LOOPBACK;
  if (isLoopback(address)) return max;
  throw usageError(
    `--run-machines: on ${address} other computers could run programs as this user.`,
    'Leave --bind-address out, or give 127.0.0.1 or ::1.',
  );
}

/** Returns the time scale. Only `/sim/clock` moves a stopped clock: without --control no machine would ever boot. */
function readTimeScale(options: OptionValues): number {
  const scale = numberOption(options, '--time-scale', { min: 0, max: FASTEST }) ?? 1;
  if (scale > 0 || switchOption(options, '--control')) return scale;
  throw usageError(
    '--time-scale: 0 stops the clock, and nothing would ever boot.',
    'Give a factor above 0, or --control: POST /sim/clock then moves the clock.',
  );
}

function readProfile(options: OptionValues): Profile {
  const profile = textOption(options, '--profile') ?? 'public';
  if (profile === 'public' || profile === 'specification') return profile;
  throw usageError(`--profile: "${profile}" is neither public nor specification.`);
}

function readAddress(options: OptionValues, flag: string): string | undefined {
  const address = textOption(options, flag);
  // No URL can contain the zone of an IPv6 address (fe80::1%eth0).
  if (address === undefined || (isIP(address) !== 0 && !address.includes('%'))) return address;
  throw usageError(`${flag}: "${address}" is not an IP address.`, FAMILY_REMEDY);
}

function readCertificateFiles(options: OptionValues): CertificateFiles | undefined {
  const cert = textOption(options, '--tls-cert-file');
  const key = textOption(options, '--tls-private-key-file');
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  const [given, absent] = cert === undefined ? ['private-key', 'cert'] : ['cert', 'private-key'];
  throw usageError(
    `--tls-${given}-file: it needs --tls-${absent}-file as well.`,
    'Give both, or none for http.',
  );
}

/** Throws for a flag about `/sim/` without `--control`, which has no effect. */
function needsControl<Value>(
  options: OptionValues,
  flag: string,
  value: Value | undefined,
): Value | undefined {
  if (value === undefined || switchOption(options, '--control')) return value;
  throw usageError(`${flag}: it needs --control.`, 'Add --control, or leave the flag out.');
}

function readKey(options: OptionValues): string | undefined {
  const key = textOption(options, '--api-key');
  if (key === undefined || /^\S+$/.test(key)) return key;
  throw usageError(
    '--api-key: a key has at least one character and no spaces.',
    'Leave it out for a random one.',
  );
}
